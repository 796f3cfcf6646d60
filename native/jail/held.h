/* The layers that the holder (holder.c) has: their file systems, and the folders of runs that they go with. */
#ifndef BELLJAR_HELD_H
#define BELLJAR_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail.h"

/* The layers of one sandbox. */
struct held {
  char id[ID_LENGTH + 1];
  int watch;          /* of the folder of the sandbox's runs, or -1: nothing tells when it is deleted */
  bool is_kept;       /* by a keeper, beyond its connection */
  bool is_listed;     /* only used while the kernel's list of watches is read */
  struct held **user; /* where the client that uses the layers notes them, or NULL */
};

/* Opens the watches, and returns their descriptor. Before the holder leaves the host's root. */
int open_watches(void);
/* NULL if there are none. */
struct held *find_held(const char *id);
/* NULL with errno set. */
struct held *make_held(const char *id, uint64_t bytes, uid_t owner);
/* Frees `held`. The remover frees the files. */
void drop_held(struct held *held);
bool has_held(void);
/* From here on the layers go with this folder. False with errno set. */
bool watch_runs(struct held *held, int runs);
/* Returns a detached mount with room for a run's own files. -1 with errno set. */
int open_held(const struct held *held);
/* Returns a descriptor without rights, for fstatfs. -1 with errno set. */
int look_at_held(const struct held *held);
/* Drops the layers of folders that were deleted. True: something happened to `other`, a watch that is not of layers, or may have. */
bool read_watches(int other);
void unmount_held(const char *id);

/* remover.c: a child of the holder. The kernel frees the files of a file system in the process that unmounts it. */
void start_remover(void);
/* False: it is gone, or has too much to do. */
bool ask_remover(const char id[ID_LENGTH + 1]);

#endif
