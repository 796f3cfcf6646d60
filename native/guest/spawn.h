/* The child's side of EXEC: from fork to execve. */
#ifndef BELLJAR_SPAWN_H
#define BELLJAR_SPAWN_H

#include <stdbool.h>
#include <stddef.h>

#include "request.h"

#define EXEC_CHANNELS_MAX 16u
#define EXEC_DESCRIPTORS_MAX (3u + EXEC_CHANNELS_MAX)

struct spawn {
  const struct request *request;
  /* What becomes descriptor 0, 1, 2 ... of the program; -1 is /dev/null. */
  int descriptors[EXEC_DESCRIPTORS_MAX];
  size_t descriptor_count;
  bool terminal;
  bool single_id;
  const char *oom_score;
  /* Closed by a successful exec; takes one whole ERROR frame otherwise. */
  int status_fd;
};

_Noreturn void spawn_child(const struct spawn *spawn);

/* Undoes what the guest did to its own signals, for a child that goes on as a program. False with errno set. */
bool reset_signals(void);

#endif
