#include "watch-set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#define CHANGES (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_EXCL_UNLINK)

static struct watched *find(struct watch_set *set, int number) {
  for (size_t i = set->count; i > 0; i--) {
    if (set->items[i - 1].number == number) return &set->items[i - 1];
  }
  return NULL;
}

const char *watch_path(const struct watch_set *set, int number) {
  for (size_t i = set->count; i > 0; i--) {
    if (set->items[i - 1].number == number) return set->items[i - 1].path;
  }
  return NULL;
}

static bool rename_item(struct watched *item, const char *path) {
  char *copy = strdup(path);
  if (copy == NULL) return false;
  free(item->path);
  item->path = copy;
  return true;
}

bool watch_add(struct watch_set *set, const char *path, const char *shown, bool follow) {
  errno = ENOSPC;
  if (set->count == WATCHES_MAX) return false;
  int number = inotify_add_watch(set->inotify, path, CHANGES | (follow ? 0u : (unsigned)(IN_DONT_FOLLOW | IN_ONLYDIR)));
  if (number < 0) return false;
  /* A folder has one number under all its names. The last name counts. */
  struct watched *known = find(set, number);
  if (known != NULL) return rename_item(known, shown);
  struct watched *item = &set->items[set->count];
  *item = (struct watched){.number = number};
  if (!rename_item(item, shown)) return false;
  set->count++;
  return true;
}

static void drop(struct watch_set *set, size_t index) {
  free(set->items[index].path);
  memmove(&set->items[index], &set->items[index + 1], (set->count - index - 1) * sizeof set->items[0]);
  set->count--;
}

void watch_forget(struct watch_set *set, int number) {
  for (size_t i = 0; i < set->count; i++) {
    if (set->items[i].number != number) continue;
    drop(set, i);
    return;
  }
}

static bool is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

bool watch_move(struct watch_set *set, const char *from, const char *to) {
  for (size_t i = 0; i < set->count; i++) {
    struct watched *item = &set->items[i];
    if (!is_below(item->path, from)) continue;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", to, &item->path[strlen(from)]);
    if (length < 0 || (size_t)length >= sizeof path || !rename_item(item, path)) return false;
  }
  return true;
}

void watch_remove(struct watch_set *set, const char *path) {
  for (size_t i = set->count; i > 0; i--) {
    if (!is_below(set->items[i - 1].path, path)) continue;
    /* The kernel may have removed the watch already. */
    inotify_rm_watch(set->inotify, set->items[i - 1].number);
    drop(set, i - 1);
  }
}
