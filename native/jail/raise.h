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
 *
 * The new overlays may have one layer in the place of several neighbours that show the same together (a merged layer, LAYER_MERGE). It lies
 * where the frozen one will lie, in STORAGE/.frozen-<layer>.
 */
#ifndef BELLJAR_RAISE_H
#define BELLJAR_RAISE_H

#include "clients.h"
#include "lowers.h"

/* Where the layer lies, in the folder of the writable layers. No overlay has such a name. */
#define FROZEN_PREFIX ".frozen-"
/* The new writable layers, until they take the place of the old ones. No overlay has such a name. */
#define NEXT ".next"
/* A copy of the stage, and two namespaces. */
#define RAISE_FDS 3

/* The first process inside, before it gives up its rights. Takes the stage, or -1. Returns the number of descriptors. */
unsigned open_for_raise(int stage, int fds[RAISE_FDS]);
/* The other side of it. The overlays follow. */
void take_inner_descriptors(struct kept *kept, const int *fds, unsigned count);

/* next-layers.c */
void make_next(const struct step *step);
/* The layer of an overlay in `folder` of the storage, by its number. A mount of its own finds it when the folder has another name, and for the raises to come. */
void place_layer(const struct step *step, const char *folder, unsigned number);

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
  unsigned count; /* of the raises of this run */
  char merged[ID_LENGTH + 1]; /* the layer that takes the place of several with this raise, or nothing */
  struct gap gaps[STEPS_MAX]; /* their places */
  struct lowers lowers[STEPS_MAX]; /* of overlays, from the first raise on. Others' memory is not touched */
};
/* The process that does it. It tells the keeper over the channel, and ends. */
_Noreturn void raise_layers(const struct kept *kept, const struct raising *raising, int channel);

/* Of memory that has only zeros. */
void raising_init(struct raising *raising);
void raising_begin(struct raising *raising, const struct kept *kept, const struct keeper_request *request);
/* Something came over the channel, which is closed then. `kept` gets what belongs to the new root. */
void raising_read(struct raising *raising, struct kept *kept);
/* Waits for the end of the process, and kills it if it has not answered. */
void raising_end(struct raising *raising);

#endif
