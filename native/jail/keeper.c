/*
 * The keeper of one run: stays outside, holds the deadline, waits for the end, writes the reason, and lets go of the layers.
 *
 *          PAUSE, the deadline with that
 *          action, or the end of an idle time
 *   RUNNING ---------------> PAUSED      KILL, STOP, the deadline, or the leash of an ephemeral
 *      |    <---------------    |        sandbox: the first of them sets the reason
 *      |     RESUME, or a stream|
 *      |   that was on its way  |
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clients.h"
#include "idle.h"
#include "jail.h"
#include "raise.h"

/* The end of the year 9999. */
#define DEADLINE_MAX_MS 253402300799999u
#define STATUS_MAX 192
#define RAISED_MAX 256
/* Nothing tells when a descriptor or memory becomes free again, so the keeper tries after this time. */
#define REST_MS 1000
/* A sandbox that is paused at its deadline ends after this time if nobody resumes it or gives it another deadline: seven days. */
#define PAUSED_KEPT_MS (7u * 24 * 3600 * 1000)

/* Why a sandbox is paused, as STATUS says it. */
#define CAUSE_IDLE "idle"

enum keeper_phase { KEEPER_RUNNING = 1, KEEPER_PAUSED = 2, KEEPER_ENDING = 3 };

struct keeper {
  struct kept *kept;
  enum keeper_phase phase;
  uint64_t deadline_ms;
  enum deadline_action action;
  bool is_overdue;     /* its deadline found it paused or paused it, and nobody has resumed it since: the next deadline ends it */
  bool stops, removes; /* what happens to the layers at the end */
  char reason[REASON_MAX];
  const char *cause;     /* of the pause */
  uint64_t memory_awake; /* what it took before the pause */
  struct idle idle;
  struct reclaim reclaim;
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
  reclaim_stop(&keeper->reclaim);
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

static void put_usage(const struct keeper *keeper, struct field_writer *fields) {
  struct cgroup_usage usage;
  read_cgroup_usage(keeper->kept->spec, &usage);
  put_number(fields, TAG_MEMORY, usage.memory);
  put_number(fields, TAG_MEMORY_PEAK, usage.memory_peak);
  put_number(fields, TAG_CPU_US, usage.cpu_us);
  put_number(fields, TAG_PROCESSES_COUNT, usage.processes);
  put_number(fields, TAG_OOM_KILLS, usage.oom_kills);
}

/* Whoever asks very many keepers leaves out what the sandbox uses: to read that from its control groups takes longer than all else here. */
static void answer_status(struct keeper *keeper, struct client *client, bool is_brief) {
  uint8_t bytes[STATUS_MAX];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_number(&fields, TAG_PHASE, keeper->phase);
  put_number(&fields, TAG_DEADLINE_MS, keeper->deadline_ms);
  put_number(&fields, TAG_ACTION, keeper->action);
  if (!is_brief) put_usage(keeper, &fields);
  if (keeper->phase == KEEPER_PAUSED) {
    put_text(&fields, TAG_REASON, keeper->cause);
    put_number(&fields, TAG_MEMORY_AWAKE, keeper->memory_awake);
  }
  client_reply(&keeper->clients, client, &fields);
}

static void refuse_client(struct keeper *keeper, struct client *client, uint16_t code, int error, const char *text) {
  client_refuse(&keeper->clients, client, code, error, text);
}

/* Whoever watches the home looks at the sandbox: its folder is the one above the folder of all runs. */
static void announce(const struct keeper *keeper) { utimensat(keeper->kept->runs, "..", NULL, 0); }

/*
 * A host that connects to a paused guest must get an error and not wait. So the guest's socket has another name meanwhile. False with errno set:
 * the sandbox runs on.
 */
static bool stop_programs(const struct keeper *keeper) {
  const struct spec *spec = keeper->kept->spec;
  if (!name_guest_socket(spec, false)) return false;
  if (freeze_cgroups(spec, true)) return true;
  int error = errno;
  name_guest_socket(spec, true);
  errno = error;
  return false;
}

/* False with errno set: they stand still. */
static bool let_programs_go(struct keeper *keeper) {
  if (!freeze_cgroups(keeper->kept->spec, false)) return false;
  name_guest_socket(keeper->kept->spec, true);
  idle_begin(&keeper->idle, keeper->kept);
  return true;
}

/* Its programs stand still. */
static void be_paused(struct keeper *keeper, const char *cause) {
  struct cgroup_usage usage;
  read_cgroup_usage(keeper->kept->spec, &usage);
  keeper->phase = KEEPER_PAUSED;
  keeper->cause = cause;
  keeper->memory_awake = usage.memory;
  reclaim_begin(keeper->kept->spec, &keeper->reclaim);
  announce(keeper);
}

static bool resume(struct keeper *keeper) {
  reclaim_stop(&keeper->reclaim);
  if (!let_programs_go(keeper)) return false;
  keeper->phase = KEEPER_RUNNING;
  keeper->is_overdue = false;
  announce(keeper);
  return true;
}

static void answer_pause(struct keeper *keeper, struct client *client) {
  if (keeper->phase == KEEPER_RUNNING && !stop_programs(keeper)) {
    int error = errno;
    refuse_client(keeper, client, error == ENOTSUP ? GUEST_ERROR_NOT_SUPPORTED : GUEST_ERROR_IO, error,
                  error == ENOTSUP     ? "this host has no freezer for the sandbox"
                  : error == ETIMEDOUT ? "a process of the sandbox does not stop; it runs on"
                                       : "the sandbox cannot be frozen");
    return;
  }
  if (keeper->phase == KEEPER_RUNNING) be_paused(keeper, "asked");
  else keeper->cause = "asked"; /* what has fallen asleep is now paused because somebody wants it */
  client_reply(&keeper->clients, client, NULL);
}

static void answer_resume(struct keeper *keeper, struct client *client) {
  if (keeper->phase == KEEPER_PAUSED && !resume(keeper)) {
    refuse_client(keeper, client, GUEST_ERROR_IO, errno, "the sandbox cannot be let go on; it stays paused");
    return;
  }
  client_reply(&keeper->clients, client, NULL);
}

static void answer_freeze(struct keeper *keeper, struct client *client, bool freeze) {
  if (keeper->phase == KEEPER_ENDING) refuse_client(keeper, client, GUEST_ERROR_NOT_SUPPORTED, 0, "the sandbox is ending");
  else if (freeze) answer_pause(keeper, client);
  else answer_resume(keeper, client);
}

static void answer_sleep(struct keeper *keeper, struct client *client, const struct keeper_request *request) {
  if (request->idle_ms > 0 && !can_be_idle(keeper->kept->spec)) {
    refuse_client(keeper, client, GUEST_ERROR_NOT_SUPPORTED, 0, "this host cannot pause the sandbox, or does not count the time of its programs");
    return;
  }
  keeper->idle.after_ms = request->idle_ms;
  idle_begin(&keeper->idle, keeper->kept);
  client_reply(&keeper->clients, client, NULL);
}

static bool is_asleep(const struct keeper *keeper) { return keeper->phase == KEEPER_PAUSED && strcmp(keeper->cause, CAUSE_IDLE) == 0; }

/*
 * A request may come until the programs stand: then they go on at once. Where one does not stop, the idle time begins again. A host that found
 * the guest's socket before it was renamed may connect still later: the keeper waits for that as long as the sandbox is asleep.
 */
static void sleep_if_idle(struct keeper *keeper) {
  if (keeper->phase != KEEPER_RUNNING || !idle_look(&keeper->idle, keeper->kept)) return;
  if (!stop_programs(keeper)) idle_begin(&keeper->idle, keeper->kept);
  else if (is_untouched(&keeper->idle, keeper->kept)) be_paused(keeper, CAUSE_IDLE);
  else if (!let_programs_go(keeper)) be_paused(keeper, CAUSE_IDLE); /* whoever waits on it wakes it */
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
  if (!is_same && !request->only_tells) raising_begin(raising, keeper->kept, request);
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
    case OPERATION_KEEPER_STATUS: answer_status(keeper, client, request->is_brief); return;
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
    case OPERATION_KEEPER_SLEEP: answer_sleep(keeper, client, request); return;
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
  reclaim_stop(&keeper->reclaim);
  close(keeper->kept->guest); /* streams that nobody accepts any more end with it */
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

/* True: the sandbox is paused, perhaps since before, and has a new deadline. */
static bool pause_at_deadline(struct keeper *keeper) {
  struct timespec now;
  if (keeper->is_overdue || (keeper->phase == KEEPER_RUNNING && !stop_programs(keeper))) return false;
  if (keeper->phase == KEEPER_RUNNING) be_paused(keeper, "deadline");
  keeper->cause = "deadline"; /* also of one that was paused before: it gets its lifetime again when it wakes */
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

enum slot { SLOT_GUEST, SLOT_CONTROL, SLOT_TIMER, SLOT_LEASH, SLOT_RAISE, SLOT_LATE, SLOT_RECLAIM, SLOT_CLIENTS };

/* The keeper rests, or waits for its next look at a running sandbox. */
static int longest_wait(const struct keeper *keeper) {
  int rest = keeper->rests ? REST_MS : -1, look = keeper->phase == KEEPER_RUNNING ? idle_wait_ms(&keeper->idle) : -1;
  return rest < 0 || (look >= 0 && look < rest) ? look : rest;
}

/* Returns the number of clients that are waited for. */
static size_t wait_for_events(struct keeper *keeper, struct pollfd *fds) {
  const struct clients *clients = &keeper->clients;
  bool takes = clients->count < CLIENTS_MAX && !keeper->rests;
  fds[SLOT_GUEST] = (struct pollfd){.fd = keeper->kept->pidfd, .events = POLLIN};
  fds[SLOT_CONTROL] = (struct pollfd){.fd = takes ? keeper->kept->control : -1, .events = POLLIN};
  fds[SLOT_TIMER] = (struct pollfd){.fd = keeper->kept->timer, .events = POLLIN};
  fds[SLOT_LEASH] = (struct pollfd){.fd = keeper->kept->leash, .events = POLLIN};
  fds[SLOT_RAISE] = (struct pollfd){.fd = keeper->raising.channel, .events = POLLIN};
  fds[SLOT_LATE] = (struct pollfd){.fd = is_asleep(keeper) ? keeper->kept->guest : -1, .events = POLLIN};
  fds[SLOT_RECLAIM] = (struct pollfd){.fd = keeper->reclaim.pid == 0 ? -1 : keeper->reclaim.pidfd, .events = POLLIN};
  for (size_t i = 0; i < clients->end; i++) fds[SLOT_CLIENTS + i] = (struct pollfd){.fd = clients->at[i].open ? clients->at[i].fd : -1, .events = POLLIN};
  int wait = longest_wait(keeper);
  keeper->rests = false;
  return poll(fds, SLOT_CLIENTS + clients->end, wait) < 0 ? 0 : clients->end;
}

static void turn(struct keeper *keeper) {
  struct pollfd fds[SLOT_CLIENTS + CLIENTS_MAX];
  size_t count = wait_for_events(keeper, fds);
  if (fds[SLOT_GUEST].revents != 0) end(keeper);
  if (fds[SLOT_RAISE].revents != 0) read_raise(keeper);
  for (size_t i = 0; i < count; i++) {
    struct client *client = &keeper->clients.at[i];
    struct keeper_request request;
    /* The answer to a raise has dropped those who waited for it. */
    if (client->open && fds[SLOT_CLIENTS + i].revents != 0 && client_read(&keeper->clients, client, &request)) answer(keeper, client, &request);
  }
  if (fds[SLOT_CONTROL].revents != 0) take_client(keeper);
  if (fds[SLOT_LEASH].revents != 0) {
    begin_kill(keeper, "host_lost");
    keeper->kept->leash = -1;
  }
  if (fds[SLOT_RECLAIM].revents != 0) {
    reclaim_end(&keeper->reclaim);
    announce(keeper); /* it takes less memory now */
  }
  if (fds[SLOT_LATE].revents != 0 && is_asleep(keeper)) resume(keeper);
  uint64_t expirations;
  if (fds[SLOT_TIMER].revents != 0 && read(keeper->kept->timer, &expirations, sizeof expirations) > 0) meet_deadline(keeper);
  sleep_if_idle(keeper);
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
