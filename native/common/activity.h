/*
 * What a guest tells its keeper of the work that it has: a page of memory that both share. The keeper reads it and never waits for it. A
 * guest that lies keeps its own sandbox awake, or has it paused.
 */
#ifndef BELLJAR_ACTIVITY_H
#define BELLJAR_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct activity {
  /* The guest acts on events, or somebody waits on one of its streams. */
  atomic_bool is_busy;
  /* Requests so far, without those that do not count as use. */
  _Atomic uint64_t requests;
};

#endif
