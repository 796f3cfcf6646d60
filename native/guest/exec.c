/* EXEC, as the loop sees it: start, signals, timeout, end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "exec.h"
#include "failure.h"
#include "kept.h"
#include "pairs.h"
#include "request.h"
#include "spawn.h"

#define DRAIN_US 50000
#define RECOUNT_US 1000000
#define EXIT_BYTES 36u
#define SIGNALS_MAX 64u

struct exec {
  /* A pipe from the child. It closes when execve succeeds, and carries an ERROR frame when it fails. */
  struct event status;
  bool started;
  bool timed_out;
  int exit_status;
  struct rusage usage;
  int64_t began_us;
  int64_t ended_us;
};

static void open_channels(struct connection *connection, const struct pair *pairs, const struct request *request) {
  bool terminal = has_flag(request, FLAG_TERMINAL);
  for (size_t i = 0; i < connection->channel_count; i++) {
    struct channel *channel = &connection->channels[i];
    enum channel_kind kind = i >= 3 ? CHANNEL_SOCKET : i == 0 && terminal ? CHANNEL_TERMINAL : CHANNEL_PIPE;
    channel_open(channel, connection, (uint8_t)i, kind, pairs[i].ours);
    bool absent = pairs[i].ours < 0;
    /* STARTED must be the first frame. */
    channel->muted = true;
    channel->reads = !absent && !(i == 0 && !terminal);
    channel->takes = channel->writes = !absent && i != 1 && i != 2;
  }
}

/* What a stream that has only the name does not know. */
static void put_kept(const struct connection *connection, struct field_writer *fields) {
  const struct channel *input = &connection->channels[0];
  uint32_t flags = connection->cut ? FLAG_CUT : 0u;
  if (input->kind == CHANNEL_TERMINAL) flags |= FLAG_TERMINAL;
  if (!input->takes || input->end_came) flags |= FLAG_NO_STDIN;
  put_number(fields, TAG_CHANNELS, connection->channel_count - 3);
  if (flags != 0) put_number(fields, TAG_FLAGS, flags);
  if (connection->stays) put_number(fields, TAG_SIZE, input->window);
}

static void send_started(struct connection *connection) {
  struct exec *exec = connection->state;
  uint8_t bytes[64];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_number(&fields, TAG_PID, (uint64_t)connection->pid);
  if (connection->kept_name[0] != 0) put_kept(connection, &fields);
  exec->started = true;
  for (size_t i = 0; i < connection->channel_count; i++) connection->channels[i].muted = false;
  connection_send(connection, (struct frame_header){FRAME_STARTED, 0, (uint32_t)fields.length}, bytes);
}

static void on_status(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  struct connection *connection = event->owner;
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  ssize_t count = read(event->fd, frame, sizeof frame);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  loop_close(loop, event);
  if (count > 0) {
    connection_send_bytes(connection, frame, (size_t)count);
    connection_end(connection);
  } else {
    send_started(connection);
  }
  connection_settle(connection);
}

/* The child's pid, or -1 with errno set. */
static pid_t fork_child(struct connection *connection, const struct request *request, const struct pair *pairs) {
  struct exec *exec = connection->state;
  struct pair status = {-1, -1};
  bool opened = open_pipe(&status, true);
  pid_t pid = opened ? fork() : -1;
  if (pid == 0) {
    struct spawn spawn = {.request = request,
                          .descriptor_count = connection->channel_count,
                          .terminal = has_flag(request, FLAG_TERMINAL),
                          .options = connection->loop->options,
                          .programs = connection->loop->options->programs,
                          .oom_score = connection->loop->child_oom_score,
                          .status_fd = status.theirs};
    for (size_t i = 0; i < spawn.descriptor_count; i++) spawn.descriptors[i] = spawn.terminal && i < 3 ? pairs[0].theirs : pairs[i].theirs;
    spawn_child(&spawn);
  }
  int error = errno;
  close_theirs(&status, 1);
  if (pid < 0) close_ours(&status, 1);
  else exec->status = (struct event){.fd = status.ours, .ready = on_status, .owner = connection};
  errno = error;
  return pid;
}

static void fail_start(struct connection *connection, const char *step) {
  int error = errno;
  char text[160];
  snprintf(text, sizeof text, "%s: %s", step, strerror(error));
  connection_fail(connection, code_of_errno(error), error, text);
}

static const char *check(const struct request *request) {
  if (request->channels > EXEC_CHANNELS_MAX) return "more than 16 channels";
  for (size_t i = 0; i < request->env.count; i++) {
    const char *entry = request->env.items[i];
    if (entry[0] == '=' || strchr(entry, '=') == NULL) return "an ENV that is not NAME=value";
  }
  return NULL;
}

static void start(struct connection *connection, const struct request *request) {
  struct exec *exec = connection->state;
  exec->status.fd = -1;
  const char *wrong = check(request);
  if (wrong != NULL) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, wrong);
    return;
  }
  if (request->name != NULL && !keep_as_named(connection, request)) return;
  size_t count = 3u + request->channels;
  struct pair pairs[EXEC_DESCRIPTORS_MAX];
  struct channel *channels = calloc(count, sizeof *channels);
  connection->channels = channels;
  connection->channel_count = channels == NULL ? 0 : count;
  exec->began_us = now_us();
  bool opened = open_pairs(pairs, request, count);
  if (!opened) fail_start(connection, "open the program's streams");
  pid_t pid = opened && channels != NULL ? fork_child(connection, request, pairs) : -1;
  if (opened && pid < 0) fail_start(connection, "start a process");
  int error = errno;
  close_theirs(pairs, count);
  if (pid < 0) {
    close_ours(pairs, count);
    errno = error;
    return;
  }
  connection->pid = pid;
  /* Most programs close their streams by exiting. Their ENDs then go out in one write with the EXIT. */
  connection->alive = connection->holds_ends = true;
  if (request->timeout_ms > 0) connection->deadline_us = exec->began_us + (int64_t)request->timeout_ms * 1000;
  open_channels(connection, pairs, request);
  if (!loop_set(connection->loop, &exec->status, EPOLLIN)) fail_start(connection, "watch the process");
}

/* Before setsid the child has no group of its own. */
static void kill_group(const struct connection *connection, int number) {
  if (!connection->alive) return;
  if (kill(-connection->pid, number) != 0 && errno == ESRCH) kill(connection->pid, number);
}

bool exec_has_started(const struct connection *connection) {
  const struct exec *exec = connection->state;
  return exec->started;
}

void exec_interrupt(const struct connection *connection) { kill_group(connection, SIGINT); }

static bool send_signal(const struct connection *connection, uint32_t number) {
  if (number == 0 || number > SIGNALS_MAX) return false;
  kill_group(connection, (int)number);
  return true;
}

static bool resize(const struct connection *connection, uint16_t rows, uint16_t cols) {
  const struct channel *terminal = &connection->channels[0];
  if (terminal->kind != CHANNEL_TERMINAL) return false;
  return terminal->event.fd < 0 || set_size(terminal->event.fd, rows, cols);
}

static bool control(struct connection *connection, uint8_t frame, const uint8_t *payload) {
  return frame == FRAME_SIGNAL ? send_signal(connection, get_u32(payload)) : resize(connection, get_u16(payload), get_u16(&payload[2]));
}

static void abandon(struct connection *connection) { kill_group(connection, SIGKILL); }

static void leave(struct connection *connection) {
  struct exec *exec = connection->state;
  release_name(connection);
  loop_close(connection->loop, &exec->status);
}

static void drain(struct connection *connection) {
  connection->deadline_us = now_us() + DRAIN_US;
  for (size_t i = 0; i < connection->channel_count; i++) channel_promise(&connection->channels[i]);
}

static void reaped(struct connection *connection, int status, const struct rusage *usage) {
  struct exec *exec = connection->state;
  connection_let_ends_go(connection);
  exec->exit_status = status;
  exec->usage = *usage;
  exec->ended_us = now_us();
  if (connection->phase == PHASE_DETACHED) {
    connection->deadline_us = 0;
    exec_rest(connection);
  } else {
    drain(connection);
  }
  connection_settle(connection);
}

void exec_rest(struct connection *connection) {
  /* What a living process prints is dropped. What one that has ended left in its pipes is the next stream's. */
  for (size_t i = 0; i < connection->channel_count; i++) {
    struct channel *channel = &connection->channels[i];
    channel_rest(channel, connection->alive && (i == 1 || i == 2 || channel->kind == CHANNEL_TERMINAL));
  }
}

void exec_resume(struct connection *connection) {
  for (size_t i = 0; i < connection->channel_count; i++) channel_resume(&connection->channels[i], connection->stays && i == 0);
  send_started(connection);
  if (!connection->alive) drain(connection);
  connection_settle(connection);
}

/* Another reader inside may take promised bytes away. So they are counted again until none is left. */
static void stop_channels(struct connection *connection) {
  connection->deadline_us = now_us() + RECOUNT_US;
  for (size_t i = 0; i < connection->channel_count; i++) channel_stop(&connection->channels[i]);
}

/* The timeout, or the end of the time to drain. */
static void deadline(struct connection *connection) {
  struct exec *exec = connection->state;
  if (!connection->alive) {
    stop_channels(connection);
    return;
  }
  exec->timed_out = true;
  kill_group(connection, SIGKILL);
}

static uint64_t cpu_us(const struct rusage *usage) {
  return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u + (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void send_exit(struct connection *connection) {
  const struct exec *exec = connection->state;
  bool signalled = WIFSIGNALED(exec->exit_status);
  uint8_t payload[EXIT_BYTES];
  put_u32(payload, signalled ? 0 : (uint32_t)WEXITSTATUS(exec->exit_status));
  put_u32(&payload[4], signalled ? (uint32_t)WTERMSIG(exec->exit_status) : 0);
  put_u32(&payload[8], exec->timed_out ? EXIT_FLAG_TIMED_OUT : 0);
  put_u64(&payload[12], (uint64_t)(exec->ended_us - exec->began_us));
  put_u64(&payload[20], cpu_us(&exec->usage));
  put_u64(&payload[28], (uint64_t)exec->usage.ru_maxrss * 1024u);
  connection_send(connection, (struct frame_header){FRAME_EXIT, 0, sizeof payload}, payload);
  connection_end(connection);
}

/* Sends EXIT once the process is gone and its channels are read. */
static void settle(struct connection *connection) {
  const struct exec *exec = connection->state;
  if (!exec->started || connection->alive) return;
  for (size_t i = 0; i < connection->channel_count; i++) {
    if (connection->channels[i].reads || connection->channels[i].end_due) return;
  }
  send_exit(connection);
}

const struct operation EXEC = {
    .state_bytes = sizeof(struct exec),
    .start = start,
    .settle = settle,
    .deadline = deadline,
    .control = control,
    .reaped = reaped,
    .abandon = abandon,
    .detach = detach_kept,
    .leave = leave,
};
