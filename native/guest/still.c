#include "still.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answering.h"
#include "connection.h"
#include "descendants.h"
#include "failure.h"
#include "incoming.h"
#include "stand.h"
#include "sudo.h"

/* By then everybody must stand. */
#define STOP_US 5000000
/* Until then parents are stopped before their children. */
#define ORDER_US 2000000
#define HOLD_US 120000000
/* Most sandboxes stand after a few passes, so the loop waits for these. Then others are served between two passes. */
#define PASSES_PER_TURN 8
#define PASS_NS 100000
#define TURN_US 1000

struct still {
  struct stand stand;
  int64_t began_us;
  bool stands;
};

bool still_holds_head(const struct connection *connection) {
  const struct loop *loop = connection->loop;
  return loop->still != NULL && connection->asked != OPERATION_PING && connection->asked != OPERATION_SHUTDOWN;
}

bool still_holds_frames(const struct connection *connection) {
  const struct loop *loop = connection->loop;
  return loop->still != NULL && loop->still != connection && connection->phase == PHASE_OPEN;
}

static void start(struct connection *connection, const struct request *request) {
  (void)request;
  struct loop *loop = connection->loop;
  struct still *still = connection->state;
  if (!loop->options->is_init || getpid() != 1) {
    connection_fail(connection, GUEST_ERROR_NOT_SUPPORTED, 0, "only a guest that is PID 1 of its sandbox can make everything stand still");
    return;
  }
  connection->channels = calloc(1, sizeof *connection->channels);
  if (connection->channels == NULL) {
    connection_fail(connection, GUEST_ERROR_TOO_MANY, ENOMEM, "no memory for the operation");
    return;
  }
  channel_open(&connection->channels[0], connection, 0, CHANNEL_SOCKET, -1);
  connection->channel_count = 1;
  connection->channels[0].window = 0; /* the host sends END alone */
  loop->still = connection;
  loop->still_changed = true;
  still->began_us = connection->deadline_us = now_us();
}

/* A folder that is being prepared for its rename shows a part of its files alone. */
static bool renames_are_done(const struct loop *loop) {
  for (const struct connection *at = loop->connections; at != NULL; at = at->next) {
    if (at->phase == PHASE_WORKER && at->asked == OPERATION_RENAME) return false;
  }
  return true;
}

static void fail_late(struct connection *connection) {
  const struct still *still = connection->state;
  struct process_status status = {.pid = still->stand.running};
  char text[160];
  if (status.pid == 0) snprintf(text, sizeof text, "a rename of a folder goes on");
  else if (!read_process_status(status.pid, &status)) snprintf(text, sizeof text, "processes start faster than they can be stopped");
  else snprintf(text, sizeof text, "process %d (%s) does not stand still", status.pid, status.name);
  connection_fail(connection, GUEST_ERROR_NOT_STILL, 0, text);
}

static void fail_pass(struct connection *connection) {
  int error = errno;
  char text[160];
  snprintf(text, sizeof text, "look at the processes: %s", strerror(error));
  connection_fail(connection, code_of_errno(error), error, text);
}

static void send_started(struct connection *connection) {
  struct still *still = connection->state;
  still->stands = true;
  connection->deadline_us = now_us() + HOLD_US;
  connection_send(connection, (struct frame_header){FRAME_STARTED, 0, 0}, NULL);
}

/* True: nothing is left to do in this turn. */
static bool make_pass(struct connection *connection) {
  struct still *still = connection->state;
  int64_t took_us = now_us() - still->began_us;
  if (took_us >= STOP_US) {
    fail_late(connection);
    return true;
  }
  if (!hold_answers() || !renames_are_done(connection->loop)) return true;
  bool stands = stand_pass(&still->stand, took_us >= ORDER_US);
  if (stands) send_started(connection);
  else if (errno != 0) fail_pass(connection);
  return connection->phase != PHASE_OPEN || stands;
}

static void take_turn(struct connection *connection) {
  const struct timespec pause = {.tv_nsec = PASS_NS};
  connection->deadline_us = now_us() + TURN_US;
  for (int i = 0; i < PASSES_PER_TURN && !make_pass(connection); i++) nanosleep(&pause, NULL);
}

static void deadline(struct connection *connection) {
  const struct still *still = connection->state;
  if (still->stands) connection_fail(connection, GUEST_ERROR_NOT_STILL, 0, "everything goes on, for it stood as long as it may");
  else take_turn(connection);
}

static void settle(struct connection *connection) {
  const struct still *still = connection->state;
  if (!still->stands || !connection->channels[0].end_came) return;
  connection_send(connection, (struct frame_header){FRAME_REPLY, 0, 0}, NULL);
  connection_end(connection);
}

static void leave(struct connection *connection) {
  struct loop *loop = connection->loop;
  if (loop->still != connection) return;
  struct still *still = connection->state;
  stand_release(&still->stand);
  let_answers_go();
  loop->still = NULL;
  loop->still_changed = true;
}

void still_break(struct loop *loop) {
  if (loop->still == NULL) return;
  struct connection *connection = loop->still;
  connection_fail(connection, GUEST_ERROR_NOT_STILL, 0, "everything goes on, for the sandbox is to end");
  connection_settle(connection);
}

/* The head that came first. */
static struct connection *first_held(const struct loop *loop) {
  struct connection *first = NULL;
  for (struct connection *at = loop->connections; at != NULL; at = at->next) {
    if (at->held != 0 && at->phase == PHASE_HEAD && (first == NULL || at->held < first->held)) first = at;
  }
  return first;
}

static void serve_held(struct loop *loop) {
  struct connection *held;
  while (loop->still == NULL && (held = first_held(loop)) != NULL) {
    held->held = 0;
    incoming_start(held);
    connection_settle(held);
  }
}

void still_settle(struct loop *loop) {
  while (loop->still_changed) {
    loop->still_changed = false;
    struct connection *next;
    for (struct connection *at = loop->connections; at != NULL; at = next) {
      next = at->next;
      connection_settle(at);
    }
    sudo_wake(loop);
    serve_held(loop);
  }
}

const struct operation STILL = {.state_bytes = sizeof(struct still), .start = start, .settle = settle, .deadline = deadline, .leave = leave};
