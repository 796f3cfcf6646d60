/* Makes all other processes of this PID namespace stand still, and lets go on those that it stopped. For PID 1 alone. */
#ifndef BELLJAR_STAND_H
#define BELLJAR_STAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stood {
  pid_t pid;
  pid_t parent;
  /* A pid with its time of start is one process. */
  uint64_t start_ticks;
  /* The pass in which this process was told to stop. 0: it was not told, it stood before. */
  uint32_t told;
  /* All its threads stand, or have ended. */
  bool stands;
};

struct stand {
  /* Sorted by pid, as the last pass found them. */
  struct stood *rows;
  size_t count;
  size_t capacity;
  uint32_t passes;
  /* Passes without a break that found nobody running. */
  uint32_t quiet;
  /* One that the last pass found running. */
  pid_t running;
};

/*
 * Looks at all processes, and stops those that run. True: everybody stands. Call it again until it is true. `at_once`: stops everybody in
 * one call, so that a process that forks faster than it can be found stops too. False with errno set when the pass failed; otherwise 0.
 */
bool stand_pass(struct stand *stand, bool at_once);
/* Lets go on what the passes stopped, children before their parents. */
void stand_release(struct stand *stand);

#endif
