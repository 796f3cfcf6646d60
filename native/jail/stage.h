/* The stage: a tmpfs that covers a folder of the host while the sandbox's root is built. The working folder is on it. */
#ifndef BELLJAR_STAGE_H
#define BELLJAR_STAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lowers.h"

/* What lies on the stage: the new root, the writable layers, the lower layers by their numbers, and an empty folder and file. */
#define NEW_ROOT "root"
#define STORAGE "storage"
/* Two mounts of the sandbox's /proc: one for the set-up itself, and the one that the sandbox gets. */
#define PROC "proc"
#define COVERED_PROC "covered"
/* A small read-only tmpfs of its own. Both cover other files for good. */
#define EMPTY "empty"
#define EMPTY_FILE EMPTY "/file"
#define EMPTY_FOLDER EMPTY "/folder"

/* Follows no link. */
int open_on_stage(const char *path);

/* mounts.c */
/* False: it was there. */
bool make_folder(const char *path, mode_t mode);
void make_read_only(int tree, const char *name);
/* Opens a path of a root as the processes inside do: no link leads out of it. */
int open_in_root(int root, const char *target);
/* Returns a detached copy of the stage, with all that is mounted there. */
int copy_stage(void);
/* What a root that takes the place of another one has for a step. */
struct renewed {
  int old;     /* the mount of a step that is moved */
  int overlay; /* a new overlay instead, or -1 */
};
/* A mount of such a step stays what it is, and gets a new place. */
bool is_moved(const struct step *step);
/* As build_root, on the stage that is the working folder. Takes ownership of all descriptors. */
void renew_root(const struct spec *spec, const struct renewed renewed[STEPS_MAX]);

/* overlay.c */
struct overlay {
  const char *target;   /* for messages */
  const char *writable; /* the folder of the writable layer; NULL: the overlay is read-only */
  const char *name;     /* of its layers that a run has raised */
  const struct lowers *lowers;
};
/* Takes ownership of `target`. */
void mount_overlay(const struct overlay *overlay, int target);
/* Returns a detached mount. -1: the kernel takes no layers by descriptor. */
int make_overlay(const struct overlay *overlay);

#endif
