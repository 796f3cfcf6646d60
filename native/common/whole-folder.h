/*
 * An overlay does not rename a folder that has a part in a lower layer (EXDEV). This makes such a folder whole: one of the writable layer
 * alone. Its entries are renamed into a new folder beside it, and the kernel copies each file that lies below. The new folder then takes
 * the place of the old one. All is done with the rights of the calling process, by descriptors, and no link is followed.
 */
#ifndef BELLJAR_WHOLE_FOLDER_H
#define BELLJAR_WHOLE_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "move-entries.h"

/* A folder that takes longer, or needs more of the disk, stays as it is. */
#define WHOLE_SECONDS 10
#define WHOLE_BYTES_MAX (1ull << 30)
#define WHOLE_DEPTH_MAX 200u

/* The name of the new folder, while it is filled, is this and the tag. */
#define WHOLE_PREFIX ".belljar-rename-"

/* Splits a path into the folder above ("" is the working folder) and a name without slashes. False: it ends in no name, or is too long. */
bool split_path(const char *path, char parent[PATH_MAX], char name[NAME_MAX + 1]);

/* A folder, and the new one beside it. */
struct whole {
  int parent;
  const char *name;
  char beside[NAME_MAX + 1];
  struct pair pair;
};
/* Opens both. Nobody else may enter the new folder. Close in both cases. */
bool open_whole(struct whole *whole, int parent, const char *name, uint64_t tag);
/* False with errno set: the folder is as it was. True: the kernel renames it. */
bool make_whole(const struct whole *whole);
/* Removes what is left beside the folder, if it is empty. Keeps errno. */
void close_whole(const struct whole *whole);
/* Puts back what a process that was killed in `make_whole` had moved. Both folders may have any name now, or none (-1: it had opened none). */
void restore_whole(int parent, uint64_t tag, const struct pair *pair);

#endif
