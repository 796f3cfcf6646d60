/* Work on layers that no run does: they are frozen, and a sandbox is put back to a frozen state. One process a job (layers.c), which jobs.c starts. */
#ifndef BELLJAR_LAYERS_H
#define BELLJAR_LAYERS_H

#include "jail.h"

/*
 * A frozen layer has a folder of its own, which is locked while a job makes or removes it. FROZEN is what it holds: a subvolume of the pool, or
 * the folder FROZEN_TREE in that folder. One that was raised in memory lies with what the sandbox writes, and FROZEN is its path there. It has the shape of what a sandbox writes: a folder `upper` for each overlay.
 */
#define FROZEN_TREE "tree"
/* In that folder: what is written last, and the mark that all of it is on the disk. */
#define FACTS_FILE "layer.json"
#define FLUSHED_FILE "flushed"
enum layer_job {
  LAYER_COPY = 1,  /* makes FROZEN from what the sandbox wrote, and from the layers below that the sources name, the topmost first */
  LAYER_CLONE = 2, /* the same, as a read-only snapshot of its subvolume */
  LAYER_EMPTY = 3, /* removes what the sandbox wrote. No run of it may live */
  LAYER_SEED = 4,  /* the same, and a snapshot of FROZEN takes its place */
  LAYER_REMOVE = 5, /* removes FROZEN */
  LAYER_LIST = 6,   /* prints what a layer has that was raised (raise.h), or was to be. No run may live */
  LAYER_FLUSH = 7, /* of all layers: LAYER is their folder, FROZEN a folder on the disk that is flushed with them (flush-layers.c) */
  LAYER_MERGE = 8, /* makes FROZEN show what the frozen layers show that the sources name, the topmost first. Of the home, it is on the disk then */
};

/* Prints what the caller asked for, and returns the exit code. For a process of its own. */
int run_layer_job(struct spec_bytes raw);

#define EXIT_FULL 5 /* no space is left */
#define EXIT_LOST 6 /* what the sandbox wrote, or FROZEN, is not there */

/* Prints the step, with errno's text, and ends the job. */
_Noreturn void fail_job(const char *action, const char *target);

/* Whoever has the lock makes or removes the layer. Ends the process while another one has it. */
int lock_frozen(const struct spec *spec);
/* Makes FROZEN, which belongs to whoever owns the files of layers, and opens it. */
int make_frozen(const struct spec *spec);

/* written.c: what the sandbox wrote, in every storage, also while it runs. */
int open_written(const struct spec *spec);

/* flush-layers.c */
int flush_job(const struct spec *spec);

/* copy-layer.c */
/*
 * A folder that has whiteouts. Of one that no other layer has, the kernel lists all names as they are, whiteouts too, unless it has this mark, as
 * one that was copied up from below. So it is for a layer that is made of several, or by somebody else.
 */
bool mark_whiteouts(int folder);
/* The writable layer of an overlay. -1: there is none of that name, or nothing in it. */
int open_overlay(int layers, const char *name);
/* Copies the overlays that have something in them, over what is there of lower layers. */
void copy_layers(int from, int to);
/* The same of a layer that nobody writes to, and of all its overlays. What can have one more name is not copied. */
void link_layers(int from, int to);

#endif
