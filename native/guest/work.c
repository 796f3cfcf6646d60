#include "work.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "connection.h"
#include "failure.h"
#include "guest.h"
#include "inside.h"
#include "request.h"

#define WORK_FD 3
#define LINGER_SECONDS 5
#define BEAT_US 1000000
/* Its name may be anybody's in the sandbox's /etc/passwd. */
#define ROOT "0"

static const struct {
  uint8_t operation;
  /* The user of a request that names no user. NULL: the sandbox's own. */
  const char *user;
  void (*serve)(struct work *work);
} WORKS[] = {
    {OPERATION_STAT, NULL, serve_stat},
    {OPERATION_LIST, NULL, serve_list},
    {OPERATION_READ, NULL, serve_read},
    {OPERATION_WRITE, NULL, serve_write},
    {OPERATION_MAKE_DIRECTORY, NULL, serve_make_directory},
    {OPERATION_RENAME, NULL, serve_rename},
    {OPERATION_REMOVE, NULL, serve_remove},
    {OPERATION_COPY, NULL, serve_copy},
    {OPERATION_SYMLINK, NULL, serve_symlink},
    {OPERATION_SET_ATTRIBUTES, NULL, serve_set_attributes},
    {OPERATION_GET_XATTR, NULL, serve_get_xattr},
    {OPERATION_SET_XATTR, NULL, serve_set_xattr},
    {OPERATION_LIST_XATTRS, NULL, serve_list_xattrs},
    {OPERATION_REMOVE_XATTR, NULL, serve_remove_xattr},
    {OPERATION_WATCH, NULL, serve_watch},
    {OPERATION_PROCESSES, ROOT, serve_processes},
    {OPERATION_SIGNAL_PROCESS, ROOT, serve_signal_process},
    {OPERATION_USAGE, ROOT, serve_usage},
};

static size_t find_work(uint8_t operation) {
  size_t count = sizeof WORKS / sizeof WORKS[0];
  for (size_t i = 0; i < count; i++) {
    if (WORKS[i].operation == operation) return i;
  }
  return count;
}

void work_flush(struct work *work) {
  if (!write_whole(work->fd, work->out, work->out_length)) _exit(1);
  work->out_length = 0;
}

struct field_writer work_fields(struct work *work) {
  struct field_writer fields;
  field_writer_init(&fields, work->payload, sizeof work->payload);
  return fields;
}

void work_send(struct work *work, uint8_t frame, const struct field_writer *fields) {
  if (fields->overflow) work_refuse(work, GUEST_ERROR_PATH_INVALID, "an answer is longer than a frame");
  if (sizeof work->out - work->out_length < FRAME_HEADER_BYTES + fields->length) work_flush(work);
  write_frame_header(&work->out[work->out_length], (struct frame_header){frame, 0, (uint32_t)fields->length});
  memcpy(&work->out[work->out_length + FRAME_HEADER_BYTES], fields->bytes, fields->length);
  work->out_length += FRAME_HEADER_BYTES + fields->length;
}

void work_check_host(const struct work *work) {
  struct pollfd host = {.fd = work->fd, .events = POLLRDHUP};
  if (poll(&host, 1, 0) > 0 && (host.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) _exit(1);
}

void work_go_on(struct work *work) {
  work_check_host(work);
  int64_t now = now_us();
  if (now - work->heard_us < BEAT_US) return;
  struct field_writer none = work_fields(work);
  work->heard_us = now;
  work_send(work, FRAME_EVENT, &none);
  work_flush(work);
}

/* The host may still be sending a file. Its bytes are read and dropped for a bounded time, so that it gets the answer before the stream breaks. */
static _Noreturn void leave(struct work *work) {
  work_flush(work);
  struct timeval patience = {.tv_sec = LINGER_SECONDS};
  if (work->request->operation == OPERATION_WRITE && shutdown(work->fd, SHUT_WR) == 0 &&
      setsockopt(work->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0) {
    while (read(work->fd, work->payload, sizeof work->payload) > 0) continue;
  }
  _exit(0);
}

_Noreturn void work_done(struct work *work, const struct field_writer *fields) {
  struct field_writer none = work_fields(work);
  work_send(work, FRAME_REPLY, fields == NULL ? &none : fields);
  leave(work);
}

static _Noreturn void send_error(struct work *work, uint16_t code, int error, const char *text) {
  work_flush(work);
  work->out_length = write_error_frame(work->out, sizeof work->out, code, error, text);
  leave(work);
}

_Noreturn void work_refuse(struct work *work, uint16_t code, const char *text) { send_error(work, code, 0, text); }

_Noreturn void work_fail(struct work *work, const char *step, const char *path) {
  int error = errno;
  char text[ERROR_TEXT_BYTES];
  /* A very long path is cut, so that the reason is not. */
  snprintf(text, sizeof text, "%s %.300s: %s", step, path, strerror(error));
  send_error(work, code_of_errno(error), error, text);
}

mode_t work_mode(const struct work *work, mode_t mode) { return mode & (work->options->drops_setid ? 01777 : 07777); }

static _Noreturn void refuse_user(struct work *work, const char *name, const char *wrong) {
  char text[ERROR_TEXT_BYTES];
  snprintf(text, sizeof text, "no user \"%.300s\": %s", name, wrong);
  work_refuse(work, GUEST_ERROR_UNKNOWN_USER, text);
}

/* Only a request that names its user may be root in a sandbox without root: whose id the sandbox's own user has, its files say. */
static void become(struct work *work, const char *fixed_user) {
  bool is_own = work->request->user == NULL && fixed_user == NULL;
  const char *name = is_own ? default_user(work->options) : work->request->user == NULL ? fixed_user : work->request->user;
  const char *wrong = find_user(name, &work->user);
  if (wrong != NULL) refuse_user(work, name, wrong);
  if (is_own && work->options->no_root && work->user.uid == INSIDE_ROOT_ID) refuse_user(work, name, "it is root, and the sandbox was made with root off");
  if (!become_user(&work->user, work->options->single_id)) work_fail(work, "become", name);
  if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0) work_fail(work, "set", "the parent's death signal");
  if (!enter_start_folder(&work->user, work->options->start_folder)) work_fail(work, "enter", "/");
  umask(0);
}

static _Noreturn void work_child(const struct connection *connection, const struct request *request, size_t operation) {
  if (dup2(connection->socket.fd, WORK_FD) < 0 || close_range(WORK_FD + 1, UINT_MAX, 0) != 0) _exit(1);
  struct work *work = calloc(1, sizeof *work);
  if (work == NULL) {
    reply_error(WORK_FD, GUEST_ERROR_TOO_MANY, ENOMEM, "no memory for the work");
    _exit(1);
  }
  work->fd = WORK_FD;
  work->request = request;
  work->options = connection->loop->options;
  work->started_us = connection->loop->started_us;
  work->heard_us = now_us();
  become(work, WORKS[operation].user);
  WORKS[operation].serve(work);
  _exit(1);
}

/* Forks the child that serves the request, and gives the stream away to it. */
static void start(struct connection *connection, const struct request *request) {
  size_t operation = find_work(request->operation);
  if (operation == sizeof WORKS / sizeof WORKS[0]) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, "the guest knows no such operation");
    return;
  }
  pid_t pid = fork();
  if (pid == 0) work_child(connection, request, operation);
  if (pid < 0) {
    connection_fail(connection, GUEST_ERROR_TOO_MANY, errno, "start the work: the sandbox has no room for another process");
    return;
  }
  connection->pid = pid;
  connection->alive = true;
  connection->phase = PHASE_WORKER;
  loop_close(connection->loop, &connection->socket);
}

static void reaped(struct connection *connection, int status, const struct rusage *usage) {
  (void)status;
  (void)usage;
  connection_close(connection);
}

const struct operation WORK = {.start = start, .reaped = reaped};
