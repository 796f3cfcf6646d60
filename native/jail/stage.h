/* The stage: a tmpfs that covers a folder of the host while the sandbox's root is built. The working folder is on it. */
#ifndef BELLJAR_STAGE_H
#define BELLJAR_STAGE_H

#include <stdbool.h>

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

/* overlay.c */
struct overlay {
  const char *target; /* for messages */
  const char *name;   /* of the writable layer; NULL: the overlay is read-only */
  unsigned first, count; /* the numbers of the lower layers, topmost first */
};
/* Takes ownership of `target`. */
void mount_overlay(const struct overlay *overlay, int target);

#endif
