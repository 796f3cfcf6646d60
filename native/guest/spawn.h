/* The child's side of EXEC: from fork to execve. */
#ifndef BELLJAR_SPAWN_H
#define BELLJAR_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "request.h"

#define EXEC_CHANNELS_MAX 16u
#define EXEC_DESCRIPTORS_MAX (3u + EXEC_CHANNELS_MAX)

struct spawn {
  const struct request *request;
  /* Become the program's descriptors 0, 1, 2 and so on. -1 becomes /dev/null. */
  int descriptors[EXEC_DESCRIPTORS_MAX];
  size_t descriptor_count;
  bool terminal;
  const struct guest_options *options;
  /* The user namespace of programs, or 0. */
  int programs;
  /* The process that serves a client of sudo, or 0. The descriptors are then the client's, and the last one is the command's terminal. */
  pid_t lender;
  const char *oom_score;
  /* A successful execve closes it. Otherwise one whole ERROR frame is written to it. */
  int status_fd;
};

_Noreturn void spawn_child(const struct spawn *spawn);

/* Gives a child that becomes a program the default signals again. False with errno set. */
bool reset_signals(void);

#endif
