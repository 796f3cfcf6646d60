#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "kept.h"
#include "listen.h"
#include "names.h"
#include "service.h"
#include "shutdown.h"
#include "sink.h"
#include "still.h"
#include "sudo.h"
#include "use.h"

#define ACCEPTS_PER_EVENT 16
/* When memory runs out, commands are killed before the guest and its workers. */
#define CHILD_OOM_RAISE 500
#define OOM_MAX 1000

static int fail(const char *step) {
  fprintf(stderr, "guest: %s: %s\n", step, strerror(errno));
  return 1;
}

static void refuse_connection(int fd) {
  uint8_t frame[256];
  size_t length = write_error_frame(frame, sizeof frame, GUEST_ERROR_TOO_MANY, 0, "the guest serves as many streams as it can: close some and try again");
  /* A new socket has room for so few bytes. If it has none, nobody reads the answer. */
  if (send(fd, frame, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) shutdown(fd, SHUT_WR);
  close(fd);
}

static void on_listener(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
    int fd = accept4(event->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
      /* Without a free descriptor the loop would spin. The listener rests until a stream is closed (wake_listeners). */
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) loop_set(loop, event, 0);
      return;
    }
    if (loop->connection_count >= CONNECTIONS_MAX) refuse_connection(fd);
    else connection_open(loop, fd);
  }
}

static void wake_listeners(struct loop *loop) {
  if (loop->closed == NULL) return;
  if (loop->stop_deadline_us == 0) {
    loop_set(loop, &loop->listener, EPOLLIN);
    sudo_wake(loop);
  }
  services_wake(loop);
}

static void reaped(struct loop *loop, pid_t pid, int status, const struct rusage *usage) {
  struct connection *connection = loop->connections;
  while (connection != NULL && !(connection->alive && connection->pid == pid)) connection = connection->next;
  if (connection != NULL) connection_reaped(connection, status, usage);
}

static void on_child(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  struct signalfd_siginfo info;
  while (read(event->fd, &info, sizeof info) > 0) continue;
  int status;
  struct rusage usage;
  pid_t pid;
  /* The thread of jail/answers.c waits for its own. */
  while ((pid = wait4(-1, &status, WNOHANG | __WNOTHREAD, &usage)) > 0) {
    if (sudo_reaped(loop, pid)) continue;
    reaped(loop, pid, status, &usage);
  }
}

static bool find_child_oom_score(struct loop *loop) {
  char text[16];
  ssize_t length = read_file("/proc/self/oom_score_adj", text, sizeof text - 1);
  if (length < 0) return false;
  text[length] = 0;
  long score = strtol(text, NULL, 10) + CHILD_OOM_RAISE;
  snprintf(loop->child_oom_score, sizeof loop->child_oom_score, "%d", score > OOM_MAX ? OOM_MAX : (int)score);
  return true;
}

static int open_signals(void) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child, NULL) != 0) return -1;
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  if (sigaction(SIGPIPE, &ignore, NULL) != 0) return -1;
  return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns the step that failed, or NULL. */
static const char *prepare(struct loop *loop) {
  const struct guest_options *options = loop->options;
  umask(022);
  if (!options->is_init && prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) != 0) return "become the child subreaper";
  if (!find_child_oom_score(loop)) return "read oom_score_adj";
  if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) != 0) return "become non-dumpable";
  int flags = fcntl(options->listen_fd, F_GETFL);
  if (flags < 0 || fcntl(options->listen_fd, F_SETFL, flags | O_NONBLOCK) != 0) return "take the listener";
  if (fcntl(options->listen_fd, F_SETFD, FD_CLOEXEC) != 0) return "take the listener";
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (loop->epoll < 0) return "make the loop";
  loop->signals.fd = open_signals();
  if (loop->signals.fd < 0) return "watch for children";
  if (!sudo_open(loop)) return "open the door of sudo";
  if (!loop_set(loop, &loop->signals, EPOLLIN) || !loop_set(loop, &loop->listener, EPOLLIN)) return "watch the listener";
  return NULL;
}

static int64_t earlier(int64_t one, int64_t other) {
  if (one == 0 || other == 0) return one + other;
  return one < other ? one : other;
}

static int64_t first_deadline(const struct loop *loop) {
  int64_t first = earlier(loop->stop_deadline_us, names_first_deadline(loop));
  for (const struct connection *connection = loop->connections; connection != NULL; connection = connection->next) {
    first = earlier(first, connection_first_deadline(connection));
  }
  return first;
}

static void pass_deadlines(struct loop *loop) {
  int64_t now = now_us();
  struct connection *next;
  for (struct connection *connection = loop->connections; connection != NULL; connection = next) {
    next = connection->next;
    connection_pass_deadlines(connection, now);
  }
}

static bool has_streams(const struct loop *loop) {
  const struct connection *at = loop->connections;
  while (at != NULL && at->phase == PHASE_DETACHED) at = at->next;
  return at != NULL;
}

/* An idle guest keeps no buffer. */
static void rest(struct loop *loop) {
  if (has_streams(loop) || loop->sinks != NULL || loop->scratch == NULL) return;
  munmap(loop->scratch, SCRATCH_BYTES);
  loop->scratch = NULL;
}

int guest_main(const struct guest_options *given) {
  struct guest_options options = *given;
  options.is_init = options.is_init || getpid() == 1;
  struct loop loop = {.options = &options, .epoll = -1, .started_us = now_us()};
  loop.listener = (struct event){.fd = options.listen_fd, .ready = on_listener};
  loop.signals = (struct event){.fd = -1, .ready = on_child};
  const char *failed = prepare(&loop);
  if (failed != NULL) return fail(failed);
  do {
    if (!loop_wait(&loop, first_deadline(&loop))) return fail("wait for events");
    pass_deadlines(&loop);
    still_settle(&loop);
    listens_settle(&loop);
    names_settle(&loop);
    kept_settle(&loop);
    wake_listeners(&loop);
    connections_sweep(&loop);
    services_sweep(&loop);
    rest(&loop);
    use_settle(&loop);
  } while (!shutdown_is_over(&loop));
  while (loop.connections != NULL) connection_close(loop.connections);
  names_settle(&loop);
  connections_sweep(&loop);
  services_close(&loop);
  sudo_close(&loop);
  services_sweep(&loop);
  sinks_close(&loop);
  return 0;
}
