/* The folders that a WATCH watches: inotify's numbers and their paths below the watched one. */
#ifndef BELLJAR_WATCH_SET_H
#define BELLJAR_WATCH_SET_H

#include <stdbool.h>
#include <stddef.h>

/* Also bounds the memory: each path is shorter than PATH_MAX. */
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

/* `path` starts at the working folder and is known as `shown` from then on. False with errno set, ENOSPC when there are too many. */
bool watch_add(struct watch_set *set, const char *path, const char *shown, bool follow);
/* NULL for a number that is no longer watched. */
const char *watch_path(const struct watch_set *set, int number);
/* The kernel has dropped it. */
void watch_forget(struct watch_set *set, int number);
/* A folder was moved within the tree, with all that is below it. False when memory or path length ran out. */
bool watch_move(struct watch_set *set, const char *from, const char *to);
/* A folder was moved out of the tree. */
void watch_remove(struct watch_set *set, const char *path);

#endif
