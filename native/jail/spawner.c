/*
 * Starts keepers for a large host process: a fork of that process costs more than the rest of a create. Reads specifications from
 * STATUS_FD and starts a jail for each. The keepers write their answers, with the run's name, to STATUS_FD too. The spawner answers if
 * a keeper cannot be started or has ended.
 *
 * One keeper is started ahead, and makes what is the same for all sandboxes: the spare. It starts a while after a request, and so after
 * most of what that request's keeper does. A spare that ends before it has made anything for its specification hands it to a keeper that
 * is no spare: each specification is kept until its spare has made the sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"
#include "pattern.h"
#include "started.h"

#define SPEC_MAX (HEAD_BYTES + FIELDS_MAX_BYTES)
#define FIELD_HEADER_BYTES 5u
/* A create takes about so long, and should not share the processors with the start of the next keeper. */
#define SPARE_AFTER_MS 5

/* A keeper that waits for its specification. */
struct spare {
  pid_t pid; /* 0: there is none */
  int spec;  /* its pipe */
  struct pattern pattern;
};

struct spawner {
  posix_spawnattr_t attributes;
  struct program program;
  int leash; /* the keepers' end of a pipe; the other end closes when this process ends */
  int ended; /* a signalfd: some keeper has ended */
  struct started started;
  struct spare spare;
  struct request last;    /* in a buffer for the longest one */
  struct pattern pattern; /* of the last request */
  int64_t spare_at_ms; /* 0: no spare is wanted */
};

static void start_spawner(struct spawner *spawner) {
  int leash[2];
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  signal(SIGPIPE, SIG_IGN); /* a keeper may be killed before it has read its specification; that must not end the spawner */
  if (pipe2(leash, O_CLOEXEC) < 0) die("make the leash");
  spawner->leash = leash[0];
  if (sigprocmask(SIG_BLOCK, &children, NULL) < 0) die("hold back signals");
  spawner->ended = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (spawner->ended < 0) die("hear of keepers that end");
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t *attributes = &spawner->attributes;
  bool prepared = posix_spawnattr_init(attributes) == 0 && posix_spawnattr_setsigmask(attributes, &none) == 0 &&
                  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK) == 0;
  if (!prepared) refuse("cannot prepare to start keepers");
}

static void report(const struct run_name *name, const char *reason) {
  uint8_t bytes[FRAME_HEADER_BYTES + 2 * ERROR_TEXT_BYTES];
  struct field_writer fields;
  field_writer_init(&fields, bytes + FRAME_HEADER_BYTES, sizeof bytes - FRAME_HEADER_BYTES);
  put_text(&fields, TAG_ID, name->id);
  put_number(&fields, TAG_RUN, name->run);
  put_text(&fields, TAG_REASON, reason);
  write_frame_header(bytes, (struct frame_header){.type = FRAME_EVENT, .length = (uint32_t)fields.length});
  write_whole(STATUS_FD, bytes, FRAME_HEADER_BYTES + fields.length);
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns an errno. */
static int spawn_keeper(struct spawner *spawner, int spec, bool is_ahead, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  char *argv[] = {(char *)(uintptr_t) "belljar-keeper", (char *)(uintptr_t) "jail", is_ahead ? (char *)(uintptr_t) "ahead" : NULL, NULL};
  char *environment[] = {NULL};
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  keep_executable(&spawner->program);
  error = posix_spawn_file_actions_adddup2(&actions, spec, STDIN_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, spawner->leash, LEASH_FD);
  if (error == 0) error = posix_spawn(pid, spawner->program.path, &actions, &spawner->attributes, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* A spare whose pipe closes ends, with all that it has made. */
static void drop_spare(struct spawner *spawner) {
  close(spawner->spare.spec);
  spawner->spare.pid = 0;
}

static void give_pattern(const struct spare *spare) {
  uint8_t bytes[HEAD_BYTES + PATTERN_MAX];
  write_head(bytes, (struct head){.operation = OPERATION_JAIL, .length = (uint32_t)spare->pattern.length});
  memcpy(bytes + HEAD_BYTES, spare->pattern.bytes, spare->pattern.length);
  write_whole(spare->spec, bytes, HEAD_BYTES + spare->pattern.length);
}

/* Makes ahead what the last request's pattern says, if `is_ahead`. Returns an errno. */
static int make_keeper(struct spawner *spawner, bool is_ahead, struct spare *made) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  made->pattern = spawner->pattern;
  is_ahead = is_ahead && made->pattern.length > 0;
  int error = spawn_keeper(spawner, ends[0], is_ahead, &made->pid);
  close(ends[0]);
  made->spec = ends[1];
  if (error == 0 && is_ahead) give_pattern(made);
  if (error == 0) return 0;
  close(ends[1]);
  made->pid = 0;
  return error;
}

static void report_error(const struct run_name *name, int error) {
  char reason[128];
  snprintf(reason, sizeof reason, "start a keeper: %s", strerror(error));
  report(name, reason);
}

/* The keeper must read at the same time: for a user with many pipes the kernel makes a new pipe very small. */
static bool give_request(int spec, const struct request *request) { return write_whole(spec, request->bytes, request->length); }

static void start_ordinary(struct spawner *spawner, const struct request *request) {
  struct spare keeper;
  int error = make_room_for_keeper(&spawner->started) ? make_keeper(spawner, false, &keeper) : ENOMEM;
  if (error != 0) {
    report_error(&request->name, error);
    return;
  }
  add_keeper(&spawner->started, keeper.pid, &request->name);
  give_request(keeper.spec, request);
  close(keeper.spec);
}

/* False: the spare has ended, or there is none. */
static bool use_spare(struct spawner *spawner) {
  struct spare spare = spawner->spare;
  if (spare.pid == 0 || !make_room_for_keeper(&spawner->started)) return false;
  spawner->spare.pid = 0;
  struct request kept = copy_request(&spawner->last);
  if (kept.bytes == NULL || !give_request(spare.spec, &kept)) {
    close(spare.spec);
    free(kept.bytes);
    return false;
  }
  keep_request(add_keeper(&spawner->started, spare.pid, &kept.name), &kept, spare.spec);
  return true;
}

/* For the last request. */
static void start_keeper(struct spawner *spawner) {
  if (spawner->spare.pid > 0 && !is_same_pattern(&spawner->spare.pattern, &spawner->pattern)) drop_spare(spawner);
  if (!use_spare(spawner)) start_ordinary(spawner, &spawner->last);
  spawner->spare_at_ms = now_ms() + SPARE_AFTER_MS;
}

/* Reports the end of every keeper, also after its sandbox was made. The host knows whether it still waits for it. */
static void forget_ended(struct spawner *spawner, pid_t pid, int status) {
  if (pid == spawner->spare.pid) drop_spare(spawner);
  struct keeper_process ended;
  if (!take_keeper(&spawner->started, pid, &ended)) return;
  if (has_made_nothing(&ended, status)) start_ordinary(spawner, &ended.request);
  else report(&ended.request.name, "its keeper was killed");
  forget_request(&ended);
}

static void tell_ended(struct spawner *spawner) {
  struct signalfd_siginfo ignored;
  pid_t pid;
  int status;
  while (read(spawner->ended, &ignored, sizeof ignored) > 0) continue;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) forget_ended(spawner, pid, status);
}

/* The host sends the id and the run as the first fields. The jail checks the other fields. */
static struct run_name read_name(const uint8_t *fields, size_t length) {
  struct run_name name;
  const uint8_t *run = fields + FIELD_HEADER_BYTES + ID_LENGTH;
  bool is_long = length >= 2 * FIELD_HEADER_BYTES + ID_LENGTH + sizeof name.run;
  if (!is_long || fields[0] != TAG_ID || get_u32(fields + 1) != ID_LENGTH) refuse("a specification does not start with its id");
  if (run[0] != TAG_RUN || get_u32(run + 1) != sizeof name.run) refuse("a specification does not say its run after its id");
  memcpy(name.id, fields + FIELD_HEADER_BYTES, ID_LENGTH);
  name.id[ID_LENGTH] = 0;
  name.run = get_u32(run + FIELD_HEADER_BYTES);
  return name;
}

/* False: the host process has gone. */
static bool serve_request(struct spawner *spawner) {
  struct head head;
  struct request *last = &spawner->last;
  if (!read_whole(STATUS_FD, last->bytes, HEAD_BYTES)) return false;
  if (parse_head(last->bytes, &head) != HEAD_OK || head.length > SPEC_MAX - HEAD_BYTES) refuse("not a specification of this version");
  if (!read_whole(STATUS_FD, last->bytes + HEAD_BYTES, head.length)) return false;
  last->length = HEAD_BYTES + head.length;
  last->name = read_name(last->bytes + HEAD_BYTES, head.length);
  read_pattern(last->bytes + HEAD_BYTES, head.length, &spawner->pattern);
  forget_requests(&spawner->started);
  start_keeper(spawner);
  return true;
}

/* How long to wait for requests. -1: no spare is wanted. */
static int until_spare(const struct spawner *spawner) {
  if (spawner->spare_at_ms == 0) return -1;
  int64_t left = spawner->spare_at_ms - now_ms();
  return left > 0 ? (int)left : 0;
}

static void make_wanted_spare(struct spawner *spawner) {
  if (until_spare(spawner) != 0) return;
  spawner->spare_at_ms = 0;
  if (spawner->spare.pid == 0) make_keeper(spawner, true, &spawner->spare); /* if it fails, the next request tries again */
}

/*
 * Hosts of MCP servers end a server with all its descendants, and a sandbox outlives its host. So this process, the keepers' parent, is
 * nobody's descendant but init's.
 */
static void leave_host(void) {
  pid_t child = fork();
  if (child < 0) die("leave the processes of the host");
  if (child > 0) _exit(EXIT_SUCCESS);
}

int spawner_main(void) {
  leave_host();
  static struct spawner spawner;
  spawner.last.bytes = malloc(SPEC_MAX);
  if (spawner.last.bytes == NULL) die("keep a specification");
  if (close_range(STATUS_FD + 1, ~0u, 0) < 0) die("close what the host process did not mean to hand on");
  open_program(&spawner.program);
  start_spawner(&spawner);
  for (;;) {
    struct pollfd fds[] = {{.fd = STATUS_FD, .events = POLLIN}, {.fd = spawner.ended, .events = POLLIN}};
    if (poll(fds, 2, until_spare(&spawner)) < 0 && errno != EINTR) die("wait for requests");
    if (fds[1].revents != 0) tell_ended(&spawner);
    if (fds[0].revents != 0 && !serve_request(&spawner)) return EXIT_SUCCESS;
    if (fds[0].revents == 0) make_wanted_spare(&spawner);
  }
}
