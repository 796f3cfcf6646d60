/* What keepers and `clear` ask the holder. */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Of a process that has nothing else to do. */
#define LAST_PATIENCE_S 60
/* A holder that nobody uses ends, perhaps between a connect and the request. */
#define TRIES 5

void holder_path(const struct spec *spec, char path[HOLDER_PATH_MAX]) {
  const char *last = strrchr(spec->sockets, '/');
  int length = last == NULL ? 0 : (int)(last - spec->sockets) + 1;
  if (length == 0 || length > HOLDER_PATH_MAX || snprintf(path, HOLDER_PATH_MAX, "%.*sholder-%u", length, spec->sockets, (unsigned)spec->id_map) >= HOLDER_PATH_MAX)
    refuse("the folder of the sockets has too long a path; set a shorter runtimeDirectory");
}

bool limit_waits(int connection, time_t seconds) {
  struct timeval patience = {.tv_sec = seconds};
  return setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
         setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0;
}

int connect_holder(const struct spec *spec) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  holder_path(spec, address.sun_path);
  int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  bool is_connected = limit_waits(connection, HOLDER_PATIENCE_S) && connect(connection, (struct sockaddr *)&address, sizeof address) == 0;
  if (is_connected && is_own_peer(connection)) return connection;
  int error = is_connected ? EPERM : errno;
  close(connection);
  errno = error;
  return -1;
}

static bool is_absent(int error) { return error == ENOENT || error == ECONNREFUSED; }

/* Both: false with errno ECONNRESET if the holder has ended. */
static bool send_request(int connection, enum hold_operation operation, const struct spec *spec, const int *given, unsigned given_count) {
  struct hold_request request = {.version = HOLD_VERSION, .operation = operation, .bytes = spec->disk};
  if (operation != HOLD_JOIN) snprintf(request.id, sizeof request.id, "%s", spec->id);
  if (send_hold(connection, &request, sizeof request, given, given_count)) return true;
  if (errno == EPIPE) errno = ECONNRESET;
  return false;
}

static bool receive_answer(int connection, int fds[HOLD_FDS_MAX], unsigned *count) {
  struct hold_answer answer;
  ssize_t length = receive_hold(connection, &answer, sizeof answer, fds, count);
  if (length == 0) errno = ECONNRESET;
  if (length <= 0) return false;
  errno = length != (ssize_t)sizeof answer || answer.version != HOLD_VERSION ? EPROTO : answer.error;
  if (errno == 0) return true;
  while (*count > 0) close(fds[--*count]);
  return false;
}

static bool tell(int connection, enum hold_operation operation, const struct spec *spec) {
  int fds[HOLD_FDS_MAX];
  unsigned count = 0;
  bool is_done = send_request(connection, operation, spec, NULL, 0) && receive_answer(connection, fds, &count);
  while (count > 0) close(fds[--count]);
  return is_done;
}

static int need_connection(const struct spec *spec) {
  int connection = connect_holder(spec);
  if (connection >= 0) return connection;
  if (!is_absent(errno)) die("reach the holder of layers in memory");
  if (spec->has_layers) report_lost("the process that held the sandbox's files in memory has ended, and they with it");
  return start_holder(spec);
}

/* The holder watches the folder of the runs: layers go with it. The lock is another descriptor's. */
static int open_runs_again(const struct spec *spec) {
  char path[PATH_MAX];
  int runs = -1;
  if (snprintf(path, sizeof path, "%s/..", spec->folder) < (int)sizeof path) runs = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (runs < 0) die("open the folder of the sandbox's runs");
  return runs;
}

bool ask_for_namespace(const struct spec *pattern, struct hold *hold) {
  int fds[HOLD_FDS_MAX];
  unsigned count = 0;
  hold->connection = connect_holder(pattern);
  if (hold->connection < 0) return false;
  bool is_given = send_request(hold->connection, HOLD_JOIN, pattern, NULL, 0) && receive_answer(hold->connection, fds, &count);
  if (is_given && count == 1) {
    hold->user_namespace = fds[0];
    return true;
  }
  while (count > 0) close(fds[--count]);
  close(hold->connection);
  hold->connection = -1;
  return false;
}

void ask_for_layers(const struct spec *spec, int leash, struct hold *hold) {
  int given[] = {open_runs_again(spec), leash};
  if (hold->connection < 0) hold->connection = need_connection(spec);
  bool is_sent = send_request(hold->connection, spec->has_layers ? HOLD_OPEN : HOLD_MAKE, spec, given, 2);
  if (!is_sent && errno != ECONNRESET) die("ask the holder of layers in memory");
  close(given[0]);
}

static void ask_again(const struct spec *spec, int leash, struct hold *hold) {
  close(hold->connection);
  hold->connection = -1;
  ask_for_layers(spec, leash, hold);
}

void await_layers(const struct spec *spec, int leash, struct hold *hold) {
  int fds[HOLD_FDS_MAX];
  unsigned count = 0;
  for (unsigned tries = 1; !receive_answer(hold->connection, fds, &count); tries++) {
    if (errno == ENOENT && spec->has_layers) report_lost("the holder of layers in memory does not have the sandbox's files any more");
    if (errno == ECONNRESET && tries == TRIES) refuse("the holder of layers in memory closes the connection: it may be another release's; kill the sandboxes that it holds");
    if (errno == ECONNRESET && hold->is_joined) _exit(EXIT_GAVE_UP); /* the next holder has another user namespace. Nothing is made yet */
    if (errno != ECONNRESET) die(spec->has_layers ? "get the layers in memory" : "make layers in memory");
    ask_again(spec, leash, hold);
  }
  if (count != (spec->id_map == ID_MAP_SLOT ? 1u : 2u)) refuse("the holder of layers in memory has another kind of namespace");
  if (!limit_waits(hold->connection, LAST_PATIENCE_S)) die("limit the waits for the holder");
  hold->layers = fds[0];
  if (count == 2 && hold->is_joined) close(fds[1]);
  else if (count == 2) hold->user_namespace = fds[1];
}

bool are_layers_held(const struct hold *hold) {
  char byte;
  return recv(hold->connection, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool keep_held_layers(const struct spec *spec, const struct hold *hold) { return tell(hold->connection, HOLD_KEEP, spec); }

int view_held_layers(const struct spec *spec) {
  int fds[HOLD_FDS_MAX];
  unsigned count = 0;
  int connection = connect_holder(spec);
  if (connection < 0) {
    if (is_absent(errno)) errno = ENOENT;
    return -1;
  }
  bool is_given = send_request(connection, HOLD_VIEW, spec, NULL, 0) && receive_answer(connection, fds, &count);
  int error = is_given ? EPROTO : errno;
  close(connection);
  if (is_given && count == 1) return fds[0];
  while (count > 0) close(fds[--count]);
  errno = error;
  return -1;
}

bool drop_held_layers(const struct spec *spec) {
  int connection = connect_holder(spec);
  if (connection < 0) return is_absent(errno);
  bool is_dropped = limit_waits(connection, LAST_PATIENCE_S) && (tell(connection, HOLD_DROP, spec) || errno == ECONNRESET);
  close(connection);
  return is_dropped;
}
