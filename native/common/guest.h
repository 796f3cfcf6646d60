/* The guest: serves the host from inside the sandbox (docs/guest-protocol.md). */
#ifndef BELLJAR_GUEST_H
#define BELLJAR_GUEST_H

#include <stdbool.h>

struct activity;

/* The guest's limit of processes (RLIMIT_NPROC) has this many for the guest itself. Commands get the rest. */
#define GUEST_RESERVED_PROCESSES 16u
/*
 * Of these, as many are counted together with the commands of all users: the guest, its thread that answers calls, and its workers. No
 * command can take the others.
 */
#define GUEST_COUNTED_PROCESSES 4u

struct guest_options {
  /* A listening stream socket. The guest takes ownership. */
  int listen_fd;
  /* Every head must carry this secret. NULL: the listener is a path that only the host reaches, and no secret is needed. */
  const char *secret;
  /* True: this process is PID 1 of the sandbox. False: it becomes a child subreaper. */
  bool is_init;
  /* Only one id is mapped. The names `root` and `user` both mean that id. */
  bool single_id;
  /* The user namespace that commands run in, below the guest's own. 0: they run in the guest's. */
  int programs;
  /* No command may run as root, and sudo has no door. */
  bool no_root;
  /* Whoever runs what names nobody, as `find_user` takes it. NULL means `user`. */
  const char *user;
  /* Where commands start and relative paths begin, for every user. NULL: in the workspace, or without one in the user's home. */
  const char *start_folder;
  /* The sandbox may make no setuid or setgid file. File calls set modes without these bits. */
  bool drops_setid;
  /* What the keeper is told of its work. NULL: there is no keeper. */
  struct activity *activity;
  /* The folder of the sockets of ACCEPT services. NULL means /run/belljar. */
  const char *services_folder;
};

/* Serves until SHUTDOWN; returns the process's exit code. */
int guest_main(const struct guest_options *options);

#endif
