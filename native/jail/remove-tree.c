/* Removes a folder of any depth with few descriptors and no recursion: folders are moved up before they are emptied. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#endif

struct removal {
  int top;
  unsigned long next_name;
};

/* A folder may forbid its owner to list it. The owner may change the mode. */
static DIR *open_folder(int parent, const char *name) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return NULL;
  if (fchmod(fd, 0700) < 0) {
    close(fd);
    return NULL;
  }
  DIR *folder = fdopendir(fd);
  if (folder == NULL) close(fd);
  return folder;
}

static bool move_up(struct removal *removal, int folder, const char *name) {
  for (;;) {
    char target[32];
    snprintf(target, sizeof target, ".removed-%lu", removal->next_name++);
    if (syscall(SYS_renameat2, folder, name, removal->top, target, RENAME_NOREPLACE) == 0) return true;
    if (errno == EACCES && fchmodat(folder, name, 0700, 0) == 0) continue;
    if (errno != EEXIST) return false;
  }
}

static bool is_self(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* Unlinks the files of a folder. Moves its folders up, to be emptied later. */
static bool empty_folder(struct removal *removal, DIR *folder) {
  struct dirent *entry;
  while ((entry = readdir(folder)) != NULL) {
    if (is_self(entry->d_name)) continue;
    if (unlinkat(dirfd(folder), entry->d_name, 0) == 0) continue;
    if (errno != EISDIR && errno != EPERM) return false;
    if (unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR) == 0) continue;
    if (!move_up(removal, dirfd(folder), entry->d_name)) return false;
  }
  return true;
}

static bool remove_child(struct removal *removal, const char *name) {
  if (unlinkat(removal->top, name, 0) == 0) return true;
  DIR *folder = open_folder(removal->top, name);
  if (folder == NULL) return errno == ENOENT;
  bool emptied = empty_folder(removal, folder);
  closedir(folder);
  return emptied && unlinkat(removal->top, name, AT_REMOVEDIR) == 0;
}

/* One pass. `found`: folders were moved up during the pass, so there may be more. */
static bool remove_children(struct removal *removal, DIR *top, bool *found) {
  struct dirent *entry;
  *found = false;
  rewinddir(top);
  while ((entry = readdir(top)) != NULL) {
    if (is_self(entry->d_name)) continue;
    *found = true;
    if (!remove_child(removal, entry->d_name)) return false;
  }
  return true;
}

bool remove_tree(int parent, const char *name) {
  DIR *top = open_folder(parent, name);
  if (top == NULL) return errno == ENOENT;
  struct removal removal = {.top = dirfd(top), .next_name = 0};
  bool found = true;
  bool removed = true;
  while (removed && found) removed = remove_children(&removal, top, &found);
  closedir(top);
  return removed && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}
