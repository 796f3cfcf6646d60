/*
 * The keeper of one run: stays outside, holds the deadline, waits for the end, writes the reason, and lets go of the layers.
 *
 *          PAUSE, or the deadline
 *            with that action
 *   RUNNING ---------------> PAUSED      KILL, STOP, the deadline, or the leash of an ephemeral
 *      |    <---------------    |        sandbox: the first of them sets the reason
 *      |         RESUME         |
 *      +-----------+------------+
 *                  |  SIGKILL to the sandbox's first process, then the thaw
 *                  v
 *               ENDING
 *                  |  that process is gone (from RUNNING and PAUSED too: it exited, or the kernel killed it)
 *                  v
 *   groups and sockets removed; layers in memory kept by their holder; reason written -> WAIT is answered
 *   after KILL, layers removed; locks released -> KILL and STOP are answered, the keeper exits
 *
 * STOP keeps the layers for another run, KILL deletes the sandbox. A KILL that comes after a STOP deletes it too. A run that ends by
 * itself leaves its layers as they are. After the first run, whoever holds the sandbox removes them. After a later one they are kept:
 * somebody was told so at the stop before it.
 *
 * Nothing here may block on a client: the deadline must work when everybody else is gone.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clients.h"
#include "jail.h"
#include "raise.h"

/* The end of the year 9999. */
#define DEADLINE_MAX_MS 253402300799999u
#define STATUS_MAX 128
#define RAISED_MAX 256
/* Nothing tells when a descriptor or memory becomes free again, so the keeper tries after this time. */
#define REST_MS 1000
/* A sandbox that is paused at its deadline ends after this time if nobody resumes it or gives it another deadline: seven days. */
#define PAUSED_KEPT_MS (7u * 24 * 3600 * 1000)

enum keeper_phase { KEEPER_RUNNING = 1, KEEPER_PAUSED = 2, KEEPER_ENDING = 3 };

struct keeper {
  struct kept *kept;
  enum keeper_phase phase;
  uint64_t deadline_ms;
  enum deadline_action action;
  bool is_overdue;     /* its deadline found it paused or paused it, and nobody has resumed it since: the next deadline ends it */
  bool stops, removes; /* what happens to the layers at the end */
  char reason[REASON_MAX];
  /* There was no free descriptor for a client. The listener rests until the next event, for REST_MS at most. */
  bool rests;
  struct raising raising;
  struct clients clients;
};

/* One in each process. */
static struct keeper keeper_state;

/* False: the deadline that was set before stands. */
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

/* A SIGKILL to a frozen process of v1 waits for the thaw, even if a program inside froze it. So the thaw follows the kill. */
static void begin_end(struct keeper *keeper, const char *reason) {
  if (keeper->phase == KEEPER_ENDING) return;
  keeper->phase = KEEPER_ENDING;
  strncpy(keeper->reason, reason, sizeof keeper->reason - 1);
  syscall(SYS_pidfd_send_signal, keeper->kept->pidfd, SIGKILL, NULL, 0u);
  freeze_cgroups(keeper->kept->spec, false);
}

static void begin_kill(struct keeper *keeper, const char *reason) {
  keeper->removes = true;
  begin_end(keeper, reason);
}

static void begin_stop(struct keeper *keeper, const char *reason) {
  if (keeper->phase == KEEPER_ENDING) return;
  keeper->stops = true;
  begin_end(keeper, reason);
}

/* Layers in memory end with the run if their holder was lost. */
static bool can_stop(const struct keeper *keeper) { return keeper->kept->spec->storage != STORAGE_TMPFS || are_layers_held(&keeper->kept->hold); }

/*
 * The layers stay, whatever happens to this process from here on. Asked when the run is over: then nothing is late if the holder takes its
 * time, and until the answer the layers go with this process.
 */
static bool keep_layers(const struct keeper *keeper) {
  if (keeper->removes || !(keeper->stops || keeper->kept->spec->has_layers)) return false;
  return keeper->kept->spec->storage != STORAGE_TMPFS || keep_held_layers(keeper->kept->spec, &keeper->kept->hold);
}

static void answer_status(struct keeper *keeper, struct client *client) {
  uint8_t bytes[STATUS_MAX];
  struct field_writer fields;
  struct cgroup_usage usage;
  read_cgroup_usage(keeper->kept->spec, &usage);
  field_writer_init(&fields, bytes, sizeof bytes);
  put_number(&fields, TAG_PHASE, keeper->phase);
  put_number(&fields, TAG_DEADLINE_MS, keeper->deadline_ms);
  put_number(&fields, TAG_ACTION, keeper->action);
  put_number(&fields, TAG_MEMORY, usage.memory);
  put_number(&fields, TAG_MEMORY_PEAK, usage.memory_peak);
  put_number(&fields, TAG_CPU_US, usage.cpu_us);
  put_number(&fields, TAG_PROCESSES_COUNT, usage.processes);
  put_number(&fields, TAG_OOM_KILLS, usage.oom_kills);
  client_reply(&keeper->clients, client, &fields);
}

static void refuse_client(struct keeper *keeper, struct client *client, uint16_t code, int error, const char *text) {
  client_refuse(&keeper->clients, client, code, error, text);
}

static void answer_freeze(struct keeper *keeper, struct client *client, bool freeze) {
  if (keeper->phase == KEEPER_ENDING) {
    refuse_client(keeper, client, GUEST_ERROR_NOT_SUPPORTED, 0, "the sandbox is ending");
    return;
  }
  bool is_paused = keeper->phase == KEEPER_PAUSED;
  /* A host that connects to a paused guest must get an error and not wait. So the guest's socket has another name meanwhile. */
  if (freeze && !is_paused && !name_guest_socket(keeper->kept->spec, false)) {
    refuse_client(keeper, client, GUEST_ERROR_IO, errno, "the guest's socket cannot be taken away");
    return;
  }
  if (freeze != is_paused && !freeze_cgroups(keeper->kept->spec, freeze)) {
    int error = errno;
    if (freeze) name_guest_socket(keeper->kept->spec, true);
    refuse_client(keeper, client, error == ETIMEDOUT ? GUEST_ERROR_IO : GUEST_ERROR_NOT_SUPPORTED, error,
                  error == ETIMEDOUT ? "a process of the sandbox does not stop; it runs on" : "this host has no freezer for the sandbox");
    return;
  }
  if (!freeze && is_paused) name_guest_socket(keeper->kept->spec, true);
  keeper->phase = freeze ? KEEPER_PAUSED : KEEPER_RUNNING;
  if (!freeze) keeper->is_overdue = false;
  client_reply(&keeper->clients, client, NULL);
}

static bool can_do(const struct keeper *keeper, enum deadline_action action) {
  if (action == DEADLINE_ACTION_PAUSE) return has_freezer(keeper->kept->spec);
  return action != DEADLINE_ACTION_STOP || can_stop(keeper);
}

static void answer_extend(struct keeper *keeper, struct client *client, const struct keeper_request *request) {
  if (!can_do(keeper, request->action)) {
    refuse_client(keeper, client, GUEST_ERROR_NOT_SUPPORTED, 0, "this sandbox cannot do that at its deadline");
    return;
  }
  if (!set_timer(keeper->kept->timer, request->deadline_ms)) {
    refuse_client(keeper, client, GUEST_ERROR_IO, errno, "the deadline cannot be set; the one before stands");
    return;
  }
  keeper->deadline_ms = request->deadline_ms;
  if (request->action != 0) keeper->action = request->action;
  client_reply(&keeper->clients, client, NULL);
}

static void answer_stop(struct keeper *keeper, struct client *client) {
  if (keeper->phase != KEEPER_ENDING && !can_stop(keeper)) {
    refuse_client(keeper, client, GUEST_ERROR_NOT_SUPPORTED, 0, "the process that held its files in memory is gone, so a stop would lose them");
    return;
  }
  client_wait(&keeper->clients, client, WAITS_FOR_REMOVAL);
  begin_stop(keeper, "stopped");
}

static void put_raised(const struct keeper *keeper, struct field_writer *fields) {
  const struct raising *raising = &keeper->raising;
  put_number(fields, TAG_KIND, raising->outcome);
  for (unsigned i = 0; i < STEPS_MAX; i++)
    if ((raising->steps >> i & 1ull) != 0) put_text(fields, TAG_ARG, keeper->kept->spec->steps[i].name);
}

/* Of an earlier raise, or of none, the layer has nothing. */
static void tell_raised(struct keeper *keeper, struct client *client, const char *layer) {
  uint8_t bytes[RAISED_MAX];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  if (strcmp(keeper->raising.layer, layer) == 0) put_raised(keeper, &fields);
  else put_number(&fields, TAG_KIND, RAISE_REFUSED);
  client_reply(&keeper->clients, client, &fields);
}

/* Whoever asks for a layer that is being made gets the same answer, when it comes. */
static void answer_raise(struct keeper *keeper, struct client *client, const struct keeper_request *request) {
  struct raising *raising = &keeper->raising;
  bool is_same = strcmp(raising->layer, request->layer) == 0, goes_on = raising->outcome == RAISE_GOES_ON;
  if (!request->only_tells && (keeper->phase != KEEPER_RUNNING || (goes_on && !is_same))) {
    refuse_client(keeper, client, GUEST_ERROR_NOT_SUPPORTED, 0, "the sandbox is paused or ending, or its layers are being raised");
    return;
  }
  if (!is_same && !request->only_tells) raising_begin(raising, keeper->kept, request->layer);
  is_same = strcmp(raising->layer, request->layer) == 0;
  if (is_same && raising->outcome == RAISE_GOES_ON) client_wait(&keeper->clients, client, WAITS_FOR_RAISE);
  else tell_raised(keeper, client, request->layer);
}

/* One that was cut off leaves a sandbox that cannot write. Nothing but its guest is alive, so nothing is lost by its end. */
static void read_raise(struct keeper *keeper) {
  uint8_t bytes[RAISED_MAX];
  struct field_writer fields;
  raising_read(&keeper->raising, keeper->kept);
  field_writer_init(&fields, bytes, sizeof bytes);
  put_raised(keeper, &fields);
  clients_answer(&keeper->clients, WAITS_FOR_RAISE, &fields);
  raising_end(&keeper->raising);
  if (keeper->raising.outcome == RAISE_BROKEN) begin_stop(keeper, "stopped");
}

static void answer(struct keeper *keeper, struct client *client, const struct keeper_request *request) {
  switch (request->operation) {
    case OPERATION_KEEPER_STATUS: answer_status(keeper, client); return;
    case OPERATION_KEEPER_EXTEND: answer_extend(keeper, client, request); return;
    case OPERATION_KEEPER_PAUSE: answer_freeze(keeper, client, true); return;
    case OPERATION_KEEPER_RESUME: answer_freeze(keeper, client, false); return;
    case OPERATION_KEEPER_WAIT: client_wait(&keeper->clients, client, WAITS_FOR_END); return;
    case OPERATION_KEEPER_KILL:
      client_wait(&keeper->clients, client, WAITS_FOR_REMOVAL);
      begin_kill(keeper, request->reason);
      return;
    case OPERATION_KEEPER_STOP: answer_stop(keeper, client); return;
    case OPERATION_KEEPER_RAISE: answer_raise(keeper, client, request); return;
    default: refuse_client(keeper, client, GUEST_ERROR_BAD_REQUEST, 0, "the keeper does not know this operation");
  }
}

static void take_client(struct keeper *keeper) {
  errno = 0;
  if (clients_accept(&keeper->clients, keeper->kept->control)) return;
  keeper->rests = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

/* The reason of an end that nobody asked for. */
static void name_end(struct keeper *keeper, int status) {
  struct cgroup_usage usage;
  if (keeper->phase == KEEPER_ENDING) return;
  read_cgroup_usage(keeper->kept->spec, &usage);
  bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  strcpy(keeper->reason, was_killed && usage.oom_kills > 0 ? "out_of_memory" : was_killed ? "killed" : "exited");
}

static void let_go_of_overlays(struct kept *kept) {
  while (kept->overlay_count > 0) close(kept->overlays[--kept->overlay_count]);
  if (kept->stage >= 0 && kept->spec->storage != STORAGE_TMPFS) close(kept->stage);
}

static _Noreturn void end(struct keeper *keeper) {
  int status = 0;
  while (waitpid(keeper->kept->pid, &status, 0) < 0 && errno == EINTR) continue;
  name_end(keeper, status);
  raising_end(&keeper->raising); /* it holds the lock of the layers */
  clean_kernel_objects(keeper->kept->spec); /* what stays has its record, by which somebody clears it later */
  bool kept = keep_layers(keeper);
  if (!keeper->removes && !kept && keeper->kept->spec->storage == STORAGE_TMPFS) drop_held_layers(keeper->kept->spec); /* before another run asks for them */
  if (!keeper->removes) close(keeper->kept->runs); /* whoever reads the end may start another run, or remove the layers */
  write_end(keeper->kept->folder, keeper->reason, kept);
  clients_tell(&keeper->clients, WAITS_FOR_END, keeper->reason);
  if (keeper->removes) let_go_of_overlays(keeper->kept); /* whoever deletes a sandbox may unmount the disk then */
  if (keeper->removes) remove_layers_as_owner(keeper->kept->spec);
  if (keeper->removes) close(keeper->kept->runs);
  close(keeper->kept->folder); /* this releases the lock: a client that is told now may clear the folder or use it again */
  clients_tell(&keeper->clients, WAITS_FOR_REMOVAL, keeper->reason);
  _exit(EXIT_SUCCESS);
}

static bool freeze_at_deadline(struct keeper *keeper) {
  if (!name_guest_socket(keeper->kept->spec, false) || !freeze_cgroups(keeper->kept->spec, true)) return false;
  keeper->phase = KEEPER_PAUSED;
  return true;
}

/* True: the sandbox is paused, perhaps since before, and has a new deadline. */
static bool pause_at_deadline(struct keeper *keeper) {
  struct timespec now;
  if (keeper->is_overdue || (keeper->phase == KEEPER_RUNNING && !freeze_at_deadline(keeper))) return false;
  clock_gettime(CLOCK_REALTIME, &now);
  keeper->is_overdue = true;
  keeper->deadline_ms = (uint64_t)now.tv_sec * 1000 + PAUSED_KEPT_MS;
  return set_timer(keeper->kept->timer, keeper->deadline_ms);
}

/* One that cannot be paused, or was paused for too long, ends, so that nothing lives on beyond its deadline. Its files stay if they can. */
static void meet_deadline(struct keeper *keeper) {
  if (keeper->phase == KEEPER_ENDING) return; /* a stop that takes long is no kill */
  if (keeper->action == DEADLINE_ACTION_PAUSE && pause_at_deadline(keeper)) return;
  if (keeper->action != DEADLINE_ACTION_KILL && can_stop(keeper)) begin_stop(keeper, "deadline");
  else begin_kill(keeper, "deadline");
}

enum slot { SLOT_GUEST, SLOT_CONTROL, SLOT_TIMER, SLOT_LEASH, SLOT_RAISE, SLOT_CLIENTS };

/* Returns the number of clients that are waited for. */
static size_t wait_for_events(struct keeper *keeper, struct pollfd *fds) {
  const struct clients *clients = &keeper->clients;
  bool takes = clients->count < CLIENTS_MAX && !keeper->rests;
  fds[SLOT_GUEST] = (struct pollfd){.fd = keeper->kept->pidfd, .events = POLLIN};
  fds[SLOT_CONTROL] = (struct pollfd){.fd = takes ? keeper->kept->control : -1, .events = POLLIN};
  fds[SLOT_TIMER] = (struct pollfd){.fd = keeper->kept->timer, .events = POLLIN};
  fds[SLOT_LEASH] = (struct pollfd){.fd = keeper->kept->leash, .events = POLLIN};
  fds[SLOT_RAISE] = (struct pollfd){.fd = keeper->raising.channel, .events = POLLIN};
  for (size_t i = 0; i < clients->end; i++) fds[SLOT_CLIENTS + i] = (struct pollfd){.fd = clients->at[i].open ? clients->at[i].fd : -1, .events = POLLIN};
  int rest = keeper->rests ? REST_MS : -1;
  keeper->rests = false;
  return poll(fds, SLOT_CLIENTS + clients->end, rest) < 0 ? 0 : clients->end;
}

static void turn(struct keeper *keeper) {
  struct pollfd fds[SLOT_CLIENTS + CLIENTS_MAX];
  size_t count = wait_for_events(keeper, fds);
  if (fds[SLOT_GUEST].revents != 0) end(keeper);
  if (fds[SLOT_RAISE].revents != 0) read_raise(keeper);
  for (size_t i = 0; i < count; i++) {
    struct client *client = &keeper->clients.at[i];
    struct keeper_request request;
    if (fds[SLOT_CLIENTS + i].revents != 0 && client_read(&keeper->clients, client, &request)) answer(keeper, client, &request);
  }
  if (fds[SLOT_CONTROL].revents != 0) take_client(keeper);
  if (fds[SLOT_LEASH].revents != 0) {
    begin_kill(keeper, "host_lost");
    keeper->kept->leash = -1;
  }
  uint64_t expirations;
  if (fds[SLOT_TIMER].revents != 0 && read(keeper->kept->timer, &expirations, sizeof expirations) > 0) meet_deadline(keeper);
}

void keep(struct kept *kept) {
  struct keeper *keeper = &keeper_state;
  keeper->kept = kept;
  keeper->phase = KEEPER_RUNNING;
  keeper->deadline_ms = kept->spec->deadline_ms;
  keeper->action = kept->spec->action;
  raising_init(&keeper->raising);
  close(STDIN_FILENO);
  if (chdir("/") < 0) begin_end(keeper, "create_failed");
  prctl(PR_SET_NAME, "belljar-keeper", 0, 0, 0);
  for (;;) turn(keeper);
}
