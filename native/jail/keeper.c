/*
 * The keeper: stays outside, holds the deadline, waits for the end, writes why, and removes what is left.
 * Nothing here may block on a client: the deadline is the switch that works when everybody else is gone.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

/* Whoever comes when all places are taken waits in the listener's queue. Requests are a number or a word. */
#define CLIENTS_MAX 1024u
/* Every process of a home that has the sandbox in its hands waits here for its end: they leave places for what is short. */
#define WAITERS_MAX 768u
/* The end of the year 9999. */
#define DEADLINE_MAX_MS 253402300799999u
#define REQUEST_MAX 64
#define REPLY_MAX 256
#define REASON_MAX 32
/* A descriptor or memory that was short may be free again, and nothing tells. */
#define REST_MS 1000

enum waiting { WAITS_NOT, WAITS_FOR_END, WAITS_FOR_REMOVAL };

struct client {
  bool open;
  int fd;
  enum waiting waiting;
  size_t length;
  uint8_t request[HEAD_BYTES + REQUEST_MAX];
};

enum phase { PHASE_RUNNING = 1, PHASE_PAUSED = 2, PHASE_ENDING = 3 };

struct keeper {
  struct kept *kept;
  enum phase phase;
  uint64_t deadline_ms;
  char reason[REASON_MAX];
  /* There was no descriptor for a client: the listener rests until something happens, a second at most. */
  bool rests;
  size_t client_count, waiter_count;
  /* Those behind it were never used: their memory is not touched. */
  size_t clients_end;
  struct client clients[CLIENTS_MAX];
};

/* One a process. */
static struct keeper keeper_state;

static void drop(struct client *client) {
  struct keeper *keeper = &keeper_state;
  close(client->fd);
  if (client->waiting == WAITS_FOR_END) keeper->waiter_count--;
  keeper->client_count--;
  client->open = false;
}

/* A reply is small: a client whose socket has no room for it does not read, and is let go. */
static void reply(struct client *client, const struct field_writer *fields) {
  uint8_t frame[FRAME_HEADER_BYTES + REPLY_MAX];
  size_t length = fields == NULL ? 0 : fields->length;
  write_frame_header(frame, (struct frame_header){.type = FRAME_REPLY, .length = (uint32_t)length});
  if (length > 0) memcpy(frame + FRAME_HEADER_BYTES, fields->bytes, length);
  send(client->fd, frame, FRAME_HEADER_BYTES + length, MSG_NOSIGNAL | MSG_DONTWAIT);
  drop(client);
}

static void reply_failure(struct client *client, uint16_t code, int error, const char *text) {
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  size_t length = write_error_frame(frame, sizeof frame, code, error, text);
  send(client->fd, frame, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  drop(client);
}

/* When it fails the deadline that was set before stands. */
static bool set_timer(int timer, uint64_t deadline_ms) {
  struct itimerspec when = {.it_value = {.tv_sec = (time_t)(deadline_ms / 1000), .tv_nsec = (long)(deadline_ms % 1000) * 1000000}};
  errno = EOVERFLOW;
  return deadline_ms <= DEADLINE_MAX_MS && timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) == 0;
}

int open_deadline(const struct spec *spec) {
  int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer < 0 || !set_timer(timer, spec->deadline_ms)) die("set the sandbox's deadline");
  return timer;
}

/* SIGKILL waits for the thaw on v1, whoever froze the group: all are killed first, then thawed. */
static void begin_end(struct keeper *keeper, const char *reason) {
  if (keeper->phase == PHASE_ENDING) return;
  keeper->phase = PHASE_ENDING;
  strncpy(keeper->reason, reason, sizeof keeper->reason - 1);
  syscall(SYS_pidfd_send_signal, keeper->kept->pidfd, SIGKILL, NULL, 0u);
  freeze_cgroups(keeper->kept->spec, false);
}

static void answer_status(struct keeper *keeper, struct client *client) {
  uint8_t bytes[REPLY_MAX];
  struct field_writer fields;
  struct cgroup_usage usage;
  read_cgroup_usage(keeper->kept->spec, &usage);
  field_writer_init(&fields, bytes, sizeof bytes);
  put_number(&fields, TAG_PHASE, keeper->phase);
  put_number(&fields, TAG_DEADLINE_MS, keeper->deadline_ms);
  put_number(&fields, TAG_MEMORY, usage.memory);
  put_number(&fields, TAG_MEMORY_PEAK, usage.memory_peak);
  put_number(&fields, TAG_CPU_US, usage.cpu_us);
  put_number(&fields, TAG_PROCESSES_COUNT, usage.processes);
  put_number(&fields, TAG_OOM_KILLS, usage.oom_kills);
  reply(client, &fields);
}

static void answer_freeze(struct keeper *keeper, struct client *client, bool freeze) {
  if (keeper->phase == PHASE_ENDING) {
    reply_failure(client, GUEST_ERROR_NOT_SUPPORTED, 0, "the sandbox is ending");
    return;
  }
  bool is_paused = keeper->phase == PHASE_PAUSED;
  /* Whoever connects to a paused guest must learn of it, and not wait for it: its socket has another name meanwhile. */
  if (freeze && !is_paused && !name_guest_socket(keeper->kept->spec, false)) {
    reply_failure(client, GUEST_ERROR_IO, errno, "the guest's socket cannot be taken away");
    return;
  }
  if (freeze != is_paused && !freeze_cgroups(keeper->kept->spec, freeze)) {
    int error = errno;
    if (freeze) name_guest_socket(keeper->kept->spec, true);
    reply_failure(client, GUEST_ERROR_NOT_SUPPORTED, error, "this host has no freezer for the sandbox");
    return;
  }
  if (!freeze && is_paused) name_guest_socket(keeper->kept->spec, true);
  keeper->phase = freeze ? PHASE_PAUSED : PHASE_RUNNING;
  reply(client, NULL);
}

static void answer_extend(struct keeper *keeper, struct client *client, uint64_t deadline_ms) {
  if (!set_timer(keeper->kept->timer, deadline_ms)) {
    reply_failure(client, GUEST_ERROR_IO, errno, "the deadline cannot be set; the one before stands");
    return;
  }
  keeper->deadline_ms = deadline_ms;
  reply(client, NULL);
}

static void begin_wait(struct keeper *keeper, struct client *client) {
  if (keeper->waiter_count >= WAITERS_MAX) {
    reply_failure(client, GUEST_ERROR_TOO_MANY, 0, "as many processes as can wait for the sandbox's end already");
    return;
  }
  client->waiting = WAITS_FOR_END;
  keeper->waiter_count++;
}

struct request {
  uint64_t deadline_ms;
  const char *reason;
};

static bool parse_request(struct client *client, uint32_t length, struct request *request) {
  struct fields fields;
  struct field field;
  enum field_result result;
  fields_init(&fields, client->request + HEAD_BYTES, length);
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    if (field.tag == TAG_DEADLINE_MS) request->deadline_ms = field.number;
    else if (field.tag == TAG_REASON) request->reason = field.text;
    else return false;
  }
  return result == FIELD_END;
}

/* Reasons are words of the error table: nothing that could break the line of JSON they are written into. */
static bool is_reason(const char *text) {
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
  return length > 0 && length < REASON_MAX && text[length] == 0;
}

static void serve(struct keeper *keeper, struct client *client, struct head head) {
  struct request request = {.deadline_ms = 0, .reason = "killed"};
  if (!parse_request(client, head.length, &request) || !is_reason(request.reason)) {
    reply_failure(client, GUEST_ERROR_BAD_REQUEST, 0, "malformed request to the keeper");
    return;
  }
  switch (head.operation) {
    case OPERATION_KEEPER_STATUS: answer_status(keeper, client); return;
    case OPERATION_KEEPER_EXTEND: answer_extend(keeper, client, request.deadline_ms); return;
    case OPERATION_KEEPER_PAUSE: answer_freeze(keeper, client, true); return;
    case OPERATION_KEEPER_RESUME: answer_freeze(keeper, client, false); return;
    case OPERATION_KEEPER_WAIT: begin_wait(keeper, client); return;
    case OPERATION_KEEPER_KILL:
      client->waiting = WAITS_FOR_REMOVAL;
      begin_end(keeper, request.reason);
      return;
    default: reply_failure(client, GUEST_ERROR_BAD_REQUEST, 0, "the keeper does not know this operation");
  }
}

static void read_client(struct keeper *keeper, struct client *client) {
  if (client->waiting != WAITS_NOT) { /* it says no more; whatever comes is its end */
    drop(client);
    return;
  }
  ssize_t got = recv(client->fd, client->request + client->length, sizeof client->request - client->length, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    drop(client);
    return;
  }
  client->length += (size_t)got;
  if (client->length < HEAD_BYTES) return;
  struct head head;
  enum head_result result = parse_head(client->request, &head);
  if (result != HEAD_OK || head.length > REQUEST_MAX) {
    uint16_t code = result == HEAD_WRONG_VERSION ? GUEST_ERROR_VERSION_MISMATCH : GUEST_ERROR_BAD_REQUEST;
    reply_failure(client, code, 0, "the keeper speaks version 1 of the protocol and takes small requests");
    return;
  }
  if (client->length >= HEAD_BYTES + head.length) serve(keeper, client, head);
}

static void accept_client(struct keeper *keeper) {
  int fd = accept4(keeper->kept->control, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    keeper->rests = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    return;
  }
  size_t i = 0;
  while (keeper->clients[i].open) i++;
  keeper->clients[i] = (struct client){.open = true, .fd = fd};
  keeper->client_count++;
  if (i >= keeper->clients_end) keeper->clients_end = i + 1;
}

/* Why the guest ended when nobody here asked for it. */
static void name_end(struct keeper *keeper, int status) {
  struct cgroup_usage usage;
  if (keeper->phase == PHASE_ENDING) return;
  read_cgroup_usage(keeper->kept->spec, &usage);
  bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  strcpy(keeper->reason, was_killed && usage.oom_kills > 0 ? "out_of_memory" : was_killed ? "killed" : "exited");
}

static void tell(struct keeper *keeper, enum waiting waiting) {
  for (size_t i = 0; i < keeper->clients_end; i++) {
    if (!keeper->clients[i].open || keeper->clients[i].waiting != waiting) continue;
    uint8_t bytes[REPLY_MAX];
    struct field_writer fields;
    field_writer_init(&fields, bytes, sizeof bytes);
    put_text(&fields, TAG_REASON, keeper->reason);
    reply(&keeper->clients[i], &fields);
  }
}

static _Noreturn void end(struct keeper *keeper) {
  int status = 0;
  while (waitpid(keeper->kept->pid, &status, 0) < 0 && errno == EINTR) continue;
  name_end(keeper, status);
  clean_kernel_objects(keeper->kept->spec);
  write_end(keeper->kept->folder, keeper->reason);
  tell(keeper, WAITS_FOR_END);
  remove_writable_layers(keeper->kept->spec);
  close(keeper->kept->folder); /* with it the lock: whoever is told now may clear or make the folder anew */
  tell(keeper, WAITS_FOR_REMOVAL);
  _exit(EXIT_SUCCESS);
}

enum slot { SLOT_GUEST, SLOT_CONTROL, SLOT_TIMER, SLOT_LEASH, SLOT_CLIENTS };

static void turn(struct keeper *keeper) {
  struct pollfd fds[SLOT_CLIENTS + CLIENTS_MAX];
  size_t count = keeper->clients_end;
  bool takes = keeper->client_count < CLIENTS_MAX && !keeper->rests;
  fds[SLOT_GUEST] = (struct pollfd){.fd = keeper->kept->pidfd, .events = POLLIN};
  fds[SLOT_CONTROL] = (struct pollfd){.fd = takes ? keeper->kept->control : -1, .events = POLLIN};
  fds[SLOT_TIMER] = (struct pollfd){.fd = keeper->kept->timer, .events = POLLIN};
  fds[SLOT_LEASH] = (struct pollfd){.fd = keeper->kept->leash, .events = POLLIN};
  for (size_t i = 0; i < count; i++) fds[SLOT_CLIENTS + i] = (struct pollfd){.fd = keeper->clients[i].open ? keeper->clients[i].fd : -1, .events = POLLIN};
  int rest = keeper->rests ? REST_MS : -1;
  keeper->rests = false;
  if (poll(fds, SLOT_CLIENTS + count, rest) < 0) return;
  if (fds[SLOT_GUEST].revents != 0) end(keeper);
  for (size_t i = 0; i < count; i++)
    if (fds[SLOT_CLIENTS + i].revents != 0) read_client(keeper, &keeper->clients[i]);
  if (fds[SLOT_CONTROL].revents != 0) accept_client(keeper);
  if (fds[SLOT_LEASH].revents != 0) {
    begin_end(keeper, "host_lost");
    keeper->kept->leash = -1;
  }
  uint64_t expirations;
  if (fds[SLOT_TIMER].revents != 0 && read(keeper->kept->timer, &expirations, sizeof expirations) > 0) begin_end(keeper, "deadline");
}

void keep(struct kept *kept) {
  struct keeper *keeper = &keeper_state;
  keeper->kept = kept;
  keeper->phase = PHASE_RUNNING;
  keeper->deadline_ms = kept->spec->deadline_ms;
  close(STDIN_FILENO);
  if (chdir("/") < 0) begin_end(keeper, "create_failed");
  prctl(PR_SET_NAME, "belljar-keeper", 0, 0, 0);
  for (;;) turn(keeper);
}
