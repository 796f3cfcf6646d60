#include "whole-folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "move-entries.h"

/* No project has such names. Both are in the new folder until the first entry is. */
#define PROBE ".belljar-probe"
#define PROBE_CHILD PROBE "/child"
#define ROOM ".belljar-room"
#define BLOCK_BYTES 512u
/* What an entry takes beside its data. */
#define ENTRY_BYTES 4096u

struct effort {
  int probe; /* the new folder, with PROBE in it */
  time_t until;
  uint64_t bytes, entries;
};

/*
 * The kernel refuses a folder with a lower part first (EXDEV), and only then a target that is not empty. So this changes nothing, and tells
 * the two apart. PROBE lies in a folder that only this process's user may enter: nobody else can empty it and get the folder.
 */
static bool is_whole(const struct effort *effort, int folder, const char *name) {
  if (rename_entry(folder, name, effort->probe, PROBE, 0) == 0) {
    rename_entry(effort->probe, PROBE, folder, name, NEVER_REPLACE);
    errno = EBUSY;
    return false;
  }
  if (!is_taken(errno)) return false;
  errno = 0;
  return true;
}

static bool measure(struct effort *effort, int folder, unsigned depth);

static bool measure_entry(struct effort *effort, int folder, const char *name, unsigned depth) {
  struct stat status;
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  effort->bytes += ENTRY_BYTES + (S_ISDIR(status.st_mode) ? 0 : (uint64_t)status.st_blocks * BLOCK_BYTES);
  effort->entries++;
  if (!S_ISDIR(status.st_mode)) return true;
  if (is_whole(effort, folder, name)) return true;
  if (errno != EXDEV) return errno == ENOENT;
  int below = openat(folder, name, FOLDER_FLAGS);
  bool measured = below >= 0 && measure(effort, below, depth + 1);
  int error = errno;
  if (below >= 0) close(below);
  errno = error;
  return measured;
}

/* Adds up what the kernel may have to copy. */
static bool measure(struct effort *effort, int folder, unsigned depth) {
  errno = ELOOP;
  DIR *list = depth > WHOLE_DEPTH_MAX ? NULL : open_list(folder);
  if (list == NULL) return false;
  const char *name;
  bool measured = true;
  while (measured && (name = next_entry(list)) != NULL) {
    measured = measure_entry(effort, folder, name, depth);
    if (!measured || (effort->bytes <= WHOLE_BYTES_MAX && !is_past(effort->until))) continue;
    errno = EFBIG;
    measured = false;
  }
  int error = measured ? 0 : errno;
  closedir(list);
  errno = error;
  return measured;
}

/* A file of that size takes the room, as quotas count it, and gives it back. Without room, not one byte is copied. */
static bool has_room(const struct effort *effort) {
  struct statvfs disk;
  errno = ENOSPC;
  if (fstatvfs(effort->probe, &disk) != 0) return false;
  if (disk.f_files != 0 && (uint64_t)disk.f_favail < 2 * effort->entries) return false;
  if ((uint64_t)disk.f_bavail * disk.f_frsize < effort->bytes) return false;
  int room = openat(effort->probe, ROOM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (room < 0) return false;
  bool fits = effort->bytes == 0 || fallocate(room, 0, 0, (off_t)effort->bytes) == 0 || errno == EOPNOTSUPP;
  int error = errno;
  close(room);
  unlinkat(effort->probe, ROOM, 0);
  errno = error;
  return fits;
}

static bool place_probe(int folder) { return mkdirat(folder, PROBE, 0700) == 0 && mkdirat(folder, PROBE_CHILD, 0700) == 0; }

static void remove_probe(int folder) {
  unlinkat(folder, ROOM, 0);
  unlinkat(folder, PROBE_CHILD, AT_REMOVEDIR);
  unlinkat(folder, PROBE, AT_REMOVEDIR);
}

static bool replace(struct effort *effort, const struct pair *pair, int parent, const char *name, const char *beside) {
  open_up(pair);
  for (int pass = 0; pass < PASSES_MAX; pass++) {
    if (!move_entries(pair, effort->until, 0) || !make_alike(pair)) return false;
    if (renameat(parent, beside, parent, name) == 0) return true;
    if (!is_taken(errno) || fchmod(pair->to, 0700) != 0) return false;
  }
  return false;
}

static void write_name(char name[NAME_MAX + 1], uint64_t tag) { snprintf(name, NAME_MAX + 1, WHOLE_PREFIX "%016llx", (unsigned long long)tag); }

bool make_whole(const struct whole *whole) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct effort effort = {.probe = whole->pair.to, .until = now.tv_sec + WHOLE_SECONDS};
  if (!place_probe(effort.probe)) return false;
  if (is_whole(&effort, whole->parent, whole->name)) return true;
  int error = errno;
  if (error == EXDEV) error = measure(&effort, whole->pair.from, 0) && has_room(&effort) ? 0 : errno;
  remove_probe(effort.probe);
  errno = error;
  if (error != 0) return false;
  if (replace(&effort, &whole->pair, whole->parent, whole->name, whole->beside)) return true;
  undo(&whole->pair);
  return false;
}

bool open_whole(struct whole *whole, int parent, const char *name, uint64_t tag) {
  *whole = (struct whole){.parent = parent, .name = name};
  write_name(whole->beside, tag);
  return open_pair(&whole->pair, parent, name, parent, whole->beside);
}

void close_whole(const struct whole *whole) {
  int error = errno;
  if (whole->pair.to >= 0) remove_probe(whole->pair.to);
  if (whole->pair.to >= 0) unlinkat(whole->parent, whole->beside, AT_REMOVEDIR); /* it is gone if it took the place */
  close_pair(&whole->pair);
  errno = error;
}

/* readdir does not tell it from one that is empty. */
static bool is_removed(int folder) {
  uint64_t room[512];
  return syscall(SYS_getdents64, folder, room, sizeof room) < 0 && errno == ENOENT;
}

/* If the old folder is removed, the new one has taken its place. */
void restore_whole(int parent, uint64_t tag, const struct pair *pair) {
  char beside[NAME_MAX + 1];
  write_name(beside, tag);
  if (pair->to >= 0 && !is_removed(pair->from)) {
    remove_probe(pair->to);
    take_back(pair->from, pair->to, 0);
  }
  unlinkat(parent, beside, AT_REMOVEDIR);
}

bool split_path(const char *path, char parent[PATH_MAX], char name[NAME_MAX + 1]) {
  size_t end = strnlen(path, PATH_MAX);
  while (end > 0 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  if (end == start || end - start > NAME_MAX || end >= PATH_MAX) return false;
  memcpy(parent, path, start);
  parent[start] = 0;
  memcpy(name, path + start, end - start);
  name[end - start] = 0;
  return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
