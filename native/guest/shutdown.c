#include "shutdown.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "descendants.h"
#include "request.h"
#include "still.h"
#include "sudo.h"

#define LAST_FRAMES_US 100000

static void signal_all(const struct loop *loop, int number) {
  /* Only PID 1 of a PID namespace may signal all processes. */
  if (loop->options->is_init && getpid() == 1) kill(-1, number);
  else signal_descendants(number);
}

static void start(struct connection *connection, const struct request *request) {
  struct loop *loop = connection->loop;
  still_break(loop);
  loop->shutdown = connection;
  loop->stop_deadline_us = now_us() + (int64_t)request->timeout_ms * 1000;
  loop_set(loop, &loop->listener, 0);
  sudo_close(loop);
  signal_all(loop, SIGTERM);
  /* A stopped process does not act on SIGTERM. */
  signal_all(loop, SIGCONT);
}

static void leave(struct connection *connection) {
  if (connection->loop->shutdown == connection) connection->loop->shutdown = NULL;
}

const struct operation SHUTDOWN = {.start = start, .leave = leave};

/* An EXIT is still to be sent. */
static bool has_open_exec(const struct loop *loop) {
  for (const struct connection *connection = loop->connections; connection != NULL; connection = connection->next) {
    if (connection->phase == PHASE_OPEN && connection->operation == &EXEC) return true;
  }
  return false;
}

static bool is_childless(void) {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

bool shutdown_is_over(struct loop *loop) {
  if (loop->stop_deadline_us == 0) return false;
  bool childless = is_childless();
  bool late = now_us() >= loop->stop_deadline_us;
  if (!loop->killed_all && (childless || late)) {
    signal_all(loop, SIGKILL);
    loop->killed_all = true;
    loop->stop_deadline_us = now_us() + LAST_FRAMES_US;
    late = false;
  }
  if (!loop->killed_all || (has_open_exec(loop) && !late)) return false;
  if (!childless && !late) return false;
  if (loop->shutdown != NULL) connection_send(loop->shutdown, (struct frame_header){FRAME_REPLY, 0, 0}, NULL);
  return true;
}
