/*
 * Starts keepers for a host process that is large: forking it costs more than the rest of a create. Reads one specification
 * after the other from STATUS_FD and executes the jail for each; the keepers answer there themselves, by the sandbox's id.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define SPEC_MAX 65536u

struct spawner {
  posix_spawnattr_t attributes;
  int leash; /* the keepers' end of a pipe whose other end closes when this process ends */
};

static void start_spawner(struct spawner *spawner) {
  int leash[2];
  if (pipe2(leash, O_CLOEXEC) < 0) die("make the leash");
  spawner->leash = leash[0];
  signal(SIGPIPE, SIG_IGN); /* a keeper that is killed before it has read says nothing, and must not end the others */
  struct sigaction reap = {.sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT};
  if (sigaction(SIGCHLD, &reap, NULL) < 0) die("leave ended keepers to the kernel");
  sigset_t standard;
  sigemptyset(&standard);
  sigaddset(&standard, SIGCHLD); /* a keeper waits for its own children */
  posix_spawnattr_t *attributes = &spawner->attributes;
  bool prepared = posix_spawnattr_init(attributes) == 0 && posix_spawnattr_setsigdefault(attributes, &standard) == 0 &&
                  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF) == 0;
  if (!prepared) refuse("cannot prepare to start keepers");
}

static void start_keeper(const struct spawner *spawner, int spec) {
  posix_spawn_file_actions_t actions;
  char *argv[] = {(char *)(uintptr_t) "belljar-keeper", (char *)(uintptr_t) "jail", NULL};
  char *environment[] = {NULL};
  bool prepared = posix_spawn_file_actions_init(&actions) == 0 && posix_spawn_file_actions_adddup2(&actions, spec, STDIN_FILENO) == 0 &&
                  posix_spawn_file_actions_adddup2(&actions, spawner->leash, LEASH_FD) == 0;
  if (!prepared) refuse("cannot prepare to start a keeper");
  int error = posix_spawn(NULL, "/proc/self/exe", &actions, &spawner->attributes, argv, environment);
  if (error != 0) die_with(error, "start a keeper");
  posix_spawn_file_actions_destroy(&actions);
}

int spawner_main(void) {
  struct spawner spawner;
  uint8_t *spec = malloc(SPEC_MAX);
  if (spec == NULL) die("keep a specification");
  close_range(STATUS_FD + 1, ~0u, 0); /* whatever the host process did not mean to hand on */
  start_spawner(&spawner);
  while (read_whole(STATUS_FD, spec, HEAD_BYTES)) {
    struct head head;
    int ends[2];
    if (parse_head(spec, &head) != HEAD_OK || head.length > SPEC_MAX - HEAD_BYTES) refuse("not a specification of this version");
    if (!read_whole(STATUS_FD, spec + HEAD_BYTES, head.length)) refuse("the specification is cut short");
    if (pipe2(ends, O_CLOEXEC) < 0) die("make a pipe for a specification");
    start_keeper(&spawner, ends[0]);
    close(ends[0]);
    /* With its reader there already: of a user who has many pipes, a sandbox's included, the kernel makes a new one very small. */
    write_whole(ends[1], spec, HEAD_BYTES + head.length);
    close(ends[1]);
  }
  return EXIT_SUCCESS;
}
