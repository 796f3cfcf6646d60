/*
 * Starts keepers for a large host process: a fork of that process costs more than the rest of a create. Reads specifications from
 * STATUS_FD and starts a jail for each. The keepers write their answers, with the run's name, to STATUS_FD too. The spawner answers if
 * a keeper cannot be started or has ended.
 *
 * The start of a program is a good part of a create. So one keeper is started ahead once a while has passed without requests.
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
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define SPEC_MAX (HEAD_BYTES + FIELDS_MAX_BYTES)
#define FIELD_HEADER_BYTES 5u
/* A create takes about so long, and should not share the processors with the start of the next keeper. */
#define SPARE_AFTER_MS 10

/* A sandbox's next run may start while the keeper of the one before still exits. */
struct run_name {
  char id[ID_LENGTH + 1];
  uint32_t run;
};

struct keeper_process {
  pid_t pid;
  struct run_name name;
};

/* A keeper that waits for its specification. */
struct spare {
  pid_t pid; /* 0: there is none */
  int spec;  /* its pipe */
};

struct spawner {
  posix_spawnattr_t attributes;
  struct program program;
  int leash; /* the keepers' end of a pipe; the other end closes when this process ends */
  int ended; /* a signalfd: some keeper has ended */
  struct keeper_process *keepers;
  size_t count, room;
  struct spare spare;
  bool wants_spare;
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

/* Reports the end of every keeper, also after its sandbox was made. The host knows whether it still waits for it. */
static void tell_ended(struct spawner *spawner) {
  struct signalfd_siginfo ignored;
  pid_t pid;
  while (read(spawner->ended, &ignored, sizeof ignored) > 0) continue;
  while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
    if (pid == spawner->spare.pid) {
      close(spawner->spare.spec);
      spawner->spare.pid = 0;
    }
    for (size_t i = 0; i < spawner->count; i++) {
      if (spawner->keepers[i].pid != pid) continue;
      report(&spawner->keepers[i].name, "its keeper was killed");
      spawner->keepers[i] = spawner->keepers[--spawner->count];
      break;
    }
  }
}

static bool make_room(struct spawner *spawner) {
  if (spawner->count < spawner->room) return true;
  size_t room = spawner->room == 0 ? 16 : spawner->room * 2;
  struct keeper_process *grown = realloc(spawner->keepers, room * sizeof *grown);
  if (grown == NULL) return false;
  spawner->keepers = grown;
  spawner->room = room;
  return true;
}

static int spawn_keeper(struct spawner *spawner, int spec, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  char *argv[] = {(char *)(uintptr_t) "belljar-keeper", (char *)(uintptr_t) "jail", NULL};
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

/* Returns an errno. */
static int make_spare(struct spawner *spawner) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  int error = spawn_keeper(spawner, ends[0], &spawner->spare.pid);
  close(ends[0]);
  spawner->spare.spec = ends[1];
  if (error == 0) return 0;
  close(ends[1]);
  spawner->spare.pid = 0;
  return error;
}

static void start_keeper(struct spawner *spawner, const struct run_name *name, const uint8_t *spec, size_t length) {
  int error = !make_room(spawner) ? ENOMEM : spawner->spare.pid > 0 ? 0 : make_spare(spawner);
  spawner->wants_spare = true;
  if (error != 0) {
    char reason[128];
    snprintf(reason, sizeof reason, "start a keeper: %s", strerror(error));
    report(name, reason);
    return;
  }
  struct spare keeper = spawner->spare;
  spawner->spare.pid = 0;
  spawner->keepers[spawner->count++] = (struct keeper_process){.pid = keeper.pid, .name = *name};
  /* The keeper must read at the same time: for a user with many pipes the kernel makes a new pipe very small. */
  write_whole(keeper.spec, spec, length);
  close(keeper.spec);
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
static bool serve_request(struct spawner *spawner, uint8_t *spec) {
  struct head head;
  if (!read_whole(STATUS_FD, spec, HEAD_BYTES)) return false;
  if (parse_head(spec, &head) != HEAD_OK || head.length > SPEC_MAX - HEAD_BYTES) refuse("not a specification of this version");
  if (!read_whole(STATUS_FD, spec + HEAD_BYTES, head.length)) return false;
  struct run_name name = read_name(spec + HEAD_BYTES, head.length);
  start_keeper(spawner, &name, spec, HEAD_BYTES + head.length);
  return true;
}

int spawner_main(void) {
  static struct spawner spawner;
  uint8_t *spec = malloc(SPEC_MAX);
  if (spec == NULL) die("keep a specification");
  if (close_range(STATUS_FD + 1, ~0u, 0) < 0) die("close what the host process did not mean to hand on");
  open_program(&spawner.program);
  start_spawner(&spawner);
  for (;;) {
    struct pollfd fds[] = {{.fd = STATUS_FD, .events = POLLIN}, {.fd = spawner.ended, .events = POLLIN}};
    int ready = poll(fds, 2, spawner.wants_spare ? SPARE_AFTER_MS : -1);
    if (ready < 0 && errno != EINTR) die("wait for requests");
    if (ready == 0) {
      spawner.wants_spare = false;
      if (spawner.spare.pid == 0) make_spare(&spawner); /* if it fails, the next request tries again */
    }
    if (fds[1].revents != 0) tell_ended(&spawner);
    if (fds[0].revents != 0 && !serve_request(&spawner, spec)) return EXIT_SUCCESS;
  }
}
