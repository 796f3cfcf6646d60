/*
 * A raise: what was the writable layer of a sandbox becomes a frozen lower layer, and a new writable one lies above it. The sandbox gets new
 * overlays, and all its other mounts move over. That takes as long for many files as for few. It is done only while nothing but the guest is
 * alive: a program that has its folder or a file open would stay in the old tree.
 *
 * A process of the keeper's does it (raise.c). It joins the sandbox's user and mount namespaces by descriptors that the first process inside
 * gave out before any program ran, and has no other process of the sandbox in sight. The steps, and what there is if it is killed:
 *
 *   1  nobody else is alive; the old overlays become read-only, which fails if anybody still writes     |  the keeper stops the run: as
 *   2  the stage of the first root, new folders and new overlays over the old ones' writable layers     |  nothing but the guest is alive,
 *   3  STORAGE/<overlay> becomes STORAGE/.frozen-<layer>/<overlay>, and the new folder takes its place   |  nothing that was written is lost,
 *   4  the new root is built on the stage, and becomes the root of all processes inside                 |  and the next run mounts all anew
 *
 * Whichever steps have happened, the writable layers over the frozen one over those below are what the sandbox had.
 */
#ifndef BELLJAR_RAISE_H
#define BELLJAR_RAISE_H

#include "jail.h"

/* Where the layer lies, in the folder of the writable layers. No overlay has such a name. */
#define FROZEN_PREFIX ".frozen-"
/* A copy of the stage, and two namespaces. */
#define RAISE_FDS 3

/* The first process inside, before it gives up its rights. Takes the stage, or -1. Returns the number of descriptors. */
unsigned open_for_raise(int stage, int fds[RAISE_FDS]);
/* The other side of it. The overlays follow. */
void take_inner_descriptors(struct kept *kept, const int *fds, unsigned count);

/* The process that does it. It tells the keeper over the channel, and ends. `raised`: how many raised layers each step has. */
_Noreturn void raise_layers(const struct kept *kept, const char *layer, const unsigned raised[STEPS_MAX], int channel);

/* raising.c: the keeper's side. One at a time. */
enum raise_outcome {
  RAISE_NONE = 0,
  RAISE_DONE = 1,   /* the layer has what was written */
  RAISE_REFUSED = 2, /* a program is alive, or something stood in the way. Nothing has changed */
  RAISE_GOES_ON = 3,
  RAISE_BROKEN = 4, /* it was killed. The run must end */
};
struct raising {
  pid_t pid;   /* 0: there is none */
  int channel; /* -1: the process has answered, or has ended */
  char layer[ID_LENGTH + 1]; /* of the last one */
  enum raise_outcome outcome;
  uint64_t steps; /* those whose layers were raised, as bits */
  unsigned raised[STEPS_MAX];
};
void raising_init(struct raising *raising);
void raising_begin(struct raising *raising, const struct kept *kept, const char *layer);
/* Something came over the channel, which is closed then. `kept` gets what belongs to the new root. */
void raising_read(struct raising *raising, struct kept *kept);
/* Waits for the end of the process, and kills it if it has not answered. */
void raising_end(struct raising *raising);

#endif
