#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "failure.h"
#include "spawn.h"

#define DRAIN_US 50000
#define HOLD_US 1000
#define RECOUNT_US 1000000
#define EXIT_BYTES 36u
#define SIGNALS_MAX 64u
#define DEFAULT_ROWS 24
#define DEFAULT_COLS 80

struct pair {
  int ours;
  int theirs;
};

static bool make_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* `reads`: we read what they write. */
static bool open_pipe(struct pair *pair, bool reads) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pair->ours = reads ? ends[0] : ends[1];
  pair->theirs = reads ? ends[1] : ends[0];
  return make_nonblocking(pair->ours);
}

static bool open_socket_pair(struct pair *pair) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  pair->ours = ends[0];
  pair->theirs = ends[1];
  return make_nonblocking(pair->ours);
}

static bool set_size(int fd, uint16_t rows, uint16_t cols) {
  struct winsize size = {.ws_row = rows, .ws_col = cols};
  return ioctl(fd, TIOCSWINSZ, &size) == 0;
}

static bool open_terminal(struct pair *pair, const struct request *request) {
  int unlocked = 0;
  pair->ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (pair->ours < 0 || ioctl(pair->ours, TIOCSPTLCK, &unlocked) != 0) return false;
  pair->theirs = ioctl(pair->ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pair->theirs < 0) return false;
  return set_size(pair->ours, request->rows == 0 ? DEFAULT_ROWS : request->rows, request->cols == 0 ? DEFAULT_COLS : request->cols);
}

static bool open_pair(struct pair *pair, const struct request *request, size_t number) {
  bool terminal = has_flag(request, FLAG_TERMINAL);
  if (number == 0 && terminal) return open_terminal(pair, request);
  if (number == 0 && has_flag(request, FLAG_NO_STDIN)) return true;
  if (number < 3) return terminal || open_pipe(pair, number != 0);
  return open_socket_pair(pair);
}

static void close_theirs(const struct pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (pairs[i].theirs >= 0) close(pairs[i].theirs);
  }
}

static void close_ours(const struct pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (pairs[i].ours >= 0) close(pairs[i].ours);
  }
}

static bool open_pairs(struct pair *pairs, const struct request *request, size_t count) {
  for (size_t i = 0; i < count; i++) pairs[i] = (struct pair){-1, -1};
  for (size_t i = 0; i < count; i++) {
    if (!open_pair(&pairs[i], request, i)) return false;
  }
  return true;
}

static void open_channels(struct connection *connection, const struct pair *pairs, const struct request *request) {
  bool terminal = has_flag(request, FLAG_TERMINAL);
  for (size_t i = 0; i < connection->channel_count; i++) {
    struct channel *channel = &connection->channels[i];
    enum channel_kind kind = i >= 3 ? CHANNEL_SOCKET : i == 0 && terminal ? CHANNEL_TERMINAL : CHANNEL_PIPE;
    channel_open(channel, connection, (uint8_t)i, kind, pairs[i].ours);
    bool absent = pairs[i].ours < 0;
    channel->reads = !absent && !(i == 0 && !terminal);
    channel->takes = channel->writes = !absent && i != 1 && i != 2;
  }
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
    uint8_t bytes[16];
    struct field_writer fields;
    field_writer_init(&fields, bytes, sizeof bytes);
    put_number(&fields, TAG_PID, (uint64_t)connection->exec.pid);
    connection->exec.started = true;
    connection_send(connection, (struct frame_header){FRAME_STARTED, 0, (uint32_t)fields.length}, bytes);
  }
  connection_settle(connection);
}

/* The child's pid, or -1 with errno set. */
static pid_t fork_child(struct connection *connection, const struct request *request, const struct pair *pairs) {
  struct pair status = {-1, -1};
  bool opened = open_pipe(&status, true);
  pid_t pid = opened ? fork() : -1;
  if (pid == 0) {
    struct spawn spawn = {.request = request,
                          .descriptor_count = connection->channel_count,
                          .terminal = has_flag(request, FLAG_TERMINAL),
                          .single_id = connection->loop->options->single_id,
                          .oom_score = connection->loop->child_oom_score,
                          .status_fd = status.theirs};
    for (size_t i = 0; i < spawn.descriptor_count; i++) spawn.descriptors[i] = spawn.terminal && i < 3 ? pairs[0].theirs : pairs[i].theirs;
    spawn_child(&spawn);
  }
  int error = errno;
  close_theirs(&status, 1);
  if (pid < 0) close_ours(&status, 1);
  else connection->exec.status = (struct event){.fd = status.ours, .ready = on_status, .owner = connection};
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

void exec_start(struct connection *connection, const struct request *request) {
  const char *wrong = check(request);
  if (wrong != NULL) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, wrong);
    return;
  }
  size_t count = 3u + request->channels;
  struct pair pairs[EXEC_DESCRIPTORS_MAX];
  struct channel *channels = calloc(count, sizeof *channels);
  connection->channels = channels;
  connection->channel_count = channels == NULL ? 0 : count;
  connection->exec.began_us = now_us();
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
  connection->exec.pid = pid;
  connection->exec.alive = true;
  if (request->timeout_ms > 0) connection->deadline_us = connection->exec.began_us + (int64_t)request->timeout_ms * 1000;
  open_channels(connection, pairs, request);
  if (!loop_set(connection->loop, &connection->exec.status, EPOLLIN)) fail_start(connection, "watch the process");
}

/* Before its setsid the child is in no group of its own. */
static void kill_group(const struct exec *exec, int number) {
  if (!exec->alive) return;
  if (kill(-exec->pid, number) != 0 && errno == ESRCH) kill(exec->pid, number);
}

bool exec_signal(struct connection *connection, uint32_t number) {
  if (number == 0 || number > SIGNALS_MAX) return false;
  kill_group(&connection->exec, (int)number);
  return true;
}

bool exec_resize(struct connection *connection, uint16_t rows, uint16_t cols) {
  const struct channel *terminal = &connection->channels[0];
  if (terminal->kind != CHANNEL_TERMINAL) return false;
  return terminal->event.fd < 0 || set_size(terminal->event.fd, rows, cols);
}

void exec_abandon(struct connection *connection) {
  if (connection->operation == OPERATION_EXEC) kill_group(&connection->exec, SIGKILL);
}

void exec_ended(struct connection *connection, int status, const struct rusage *usage) {
  struct exec *exec = &connection->exec;
  exec->exit_status = status;
  exec->usage = *usage;
  exec->ended_us = now_us();
  connection->deadline_us = exec->ended_us + DRAIN_US;
  for (size_t i = 0; i < connection->channel_count; i++) channel_promise(&connection->channels[i]);
  connection_settle(connection);
}

/* A reader inside may have taken promised bytes away: they are counted again until they are gone or delivered. */
static void stop_channels(struct connection *connection) {
  connection->exec.drained = true;
  connection->deadline_us = now_us() + RECOUNT_US;
  for (size_t i = 0; i < connection->channel_count; i++) channel_stop(&connection->channels[i]);
}

void exec_deadline(struct connection *connection) {
  struct exec *exec = &connection->exec;
  if (!exec->alive) {
    stop_channels(connection);
    return;
  }
  exec->timed_out = true;
  kill_group(exec, SIGKILL);
}

static uint64_t cpu_us(const struct rusage *usage) {
  return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u + (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void send_exit(struct connection *connection) {
  const struct exec *exec = &connection->exec;
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

bool exec_holds_end(struct connection *connection) {
  if (connection->operation != OPERATION_EXEC || !connection->exec.alive || connection->hold_us == HOLD_OVER) return false;
  if (connection->hold_us == 0) connection->hold_us = now_us() + HOLD_US;
  return true;
}

void exec_settle(struct connection *connection) {
  const struct exec *exec = &connection->exec;
  if (!exec->started || exec->alive) return;
  for (size_t i = 0; i < connection->channel_count; i++) {
    if (connection->channels[i].reads || connection->channels[i].end_due) return;
  }
  send_exit(connection);
}
