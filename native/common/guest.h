/* The guest: serves the host from inside the sandbox (docs/guest-protocol.md). */
#ifndef BELLJAR_GUEST_H
#define BELLJAR_GUEST_H

#include <stdbool.h>

/* Processes that the guest keeps for itself of those that its own limit (RLIMIT_NPROC) allows: commands get the rest. */
#define GUEST_RESERVED_PROCESSES 16u

struct guest_options {
  /* A listening stream socket; the guest owns it from here on. */
  int listen_fd;
  /* Every head must carry it; NULL where the listener is a path that only the host reaches. */
  const char *secret;
  /* This process is PID 1 of the sandbox; otherwise it becomes a child subreaper. */
  bool is_init;
  /* One id is mapped: the names `root` and `user` both mean the current id. */
  bool single_id;
  /* Folder of the ACCEPT services' sockets; NULL is /run/belljar. */
  const char *services_folder;
};

/* Serves until SHUTDOWN; returns the process's exit code. */
int guest_main(const struct guest_options *options);

#endif
