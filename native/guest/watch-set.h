/* The folders of a WATCH: their inotify numbers, and their paths below the watched folder. */
#ifndef BELLJAR_WATCH_SET_H
#define BELLJAR_WATCH_SET_H

#include <stdbool.h>
#include <stddef.h>

/* This bounds the memory too: each path is shorter than PATH_MAX. */
#define WATCHES_MAX 8192u

struct watched {
  int number;
  char *path;
};

struct watch_set {
  int inotify;
  size_t count;
  struct watched items[WATCHES_MAX];
};

/* `path` is relative to the working folder; `shown` is its name in events. False with errno set. ENOSPC: there are too many watches. */
bool watch_add(struct watch_set *set, const char *path, const char *shown, bool follow);
/* NULL: the number is no longer watched. */
const char *watch_path(const struct watch_set *set, int number);
/* The kernel has removed the watch. */
void watch_forget(struct watch_set *set, int number);
/* A folder was moved within the tree. Renames it and all folders below it. False: memory is short, or a path is too long. */
bool watch_move(struct watch_set *set, const char *from, const char *to);
/* A folder was moved out of the tree. Forgets it and all folders below it. */
void watch_remove(struct watch_set *set, const char *path);

#endif
