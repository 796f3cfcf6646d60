#include "move-entries.h"

#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "whole-folder.h"

#define XATTR_BYTES 65536u

bool is_past(time_t until) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec >= until;
}

static bool is_dots(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

static bool is_folder(int folder, const char *name) {
  struct stat status;
  return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/* Another folder above is a change of the folder, which its owner may have forbidden. */
static int rename_closed(int from, const char *name, int to, const char *as, unsigned flags) {
  struct stat status;
  int folder = openat(from, name, FOLDER_FLAGS), result = -1, error = EACCES;
  if (folder >= 0 && fstat(folder, &status) == 0 && (status.st_mode & 0200) == 0 && fchmod(folder, (status.st_mode & 07777) | 0200) == 0) {
    result = (int)syscall(SYS_renameat2, from, name, to, as, flags);
    error = errno;
    fchmod(folder, status.st_mode & 07777);
  }
  if (folder >= 0) close(folder);
  errno = error;
  return result;
}

int rename_entry(int from, const char *name, int to, const char *as, unsigned flags) {
  int result = (int)syscall(SYS_renameat2, from, name, to, as, flags);
  return result != 0 && errno == EACCES ? rename_closed(from, name, to, as, flags) : result;
}

DIR *open_list(int folder) {
  int fd = openat(folder, ".", FOLDER_FLAGS);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  if (fd >= 0 && list == NULL) close(fd);
  return list;
}

const char *next_entry(DIR *list) {
  struct dirent *entry;
  do {
    errno = 0;
    entry = readdir(list);
  } while (entry != NULL && is_dots(entry->d_name));
  return entry == NULL ? NULL : entry->d_name;
}

/* The kernel gives some attributes by itself, and guards others: those of its security modules are not ours to set. */
static bool copy_attribute(const struct pair *pair, const char *name) {
  static char value[XATTR_BYTES];
  ssize_t length = fgetxattr(pair->from, name, value, sizeof value);
  bool copied = length >= 0 && fsetxattr(pair->to, name, value, (size_t)length, 0) == 0;
  return copied || strncmp(name, "security.", strlen("security.")) == 0;
}

static bool copy_attributes(const struct pair *pair) {
  static const char *const INHERITED[] = {"system.posix_acl_access", "system.posix_acl_default"};
  static char names[XATTR_BYTES];
  for (size_t i = 0; i < sizeof INHERITED / sizeof INHERITED[0]; i++) fremovexattr(pair->to, INHERITED[i]);
  ssize_t length = flistxattr(pair->from, names, sizeof names);
  if (length < 0) return errno == ENOTSUP;
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(names + at) + 1)
    if (!copy_attribute(pair, names + at)) return false;
  return true;
}

static void set_times(int folder, const struct stat *like) {
  struct timespec times[] = {like->st_atim, like->st_mtim};
  futimens(folder, times);
}

bool make_alike(const struct pair *pair) {
  struct stat now;
  if (!copy_attributes(pair) || fstat(pair->to, &now) != 0) return false;
  bool is_owned = now.st_uid == pair->like.st_uid && now.st_gid == pair->like.st_gid;
  if (!is_owned && fchown(pair->to, pair->like.st_uid, pair->like.st_gid) != 0) return false;
  if (fchmod(pair->to, pair->like.st_mode & 07777) != 0) return false;
  set_times(pair->to, &pair->like);
  return true;
}

static bool is_empty(int folder) {
  DIR *list = open_list(folder);
  bool empty = list != NULL && next_entry(list) == NULL && errno == 0;
  if (list != NULL) closedir(list);
  return empty;
}

static bool is_new(int folder) {
  struct stat status;
  bool is_own = fstat(folder, &status) == 0 && status.st_uid == (uid_t)setfsuid((uid_t)-1) && (status.st_mode & 0777) == 0700;
  return is_own && is_empty(folder);
}

/* Whoever may rename in the folder above can put another folder in its place before it is open. That one would get the old one's owner. */
static int open_new(int above, const char *name) {
  int folder = mkdirat(above, name, 0700) == 0 ? openat(above, name, FOLDER_FLAGS) : -1;
  if (folder < 0 || is_new(folder)) return folder;
  close(folder);
  errno = EBUSY;
  return -1;
}

bool open_pair(struct pair *pair, int above_from, const char *name, int above_to, const char *as) {
  *pair = (struct pair){.from = openat(above_from, name, FOLDER_FLAGS), .to = -1};
  if (pair->from >= 0 && fstat(pair->from, &pair->like) == 0) pair->to = open_new(above_to, as);
  return pair->to >= 0;
}

void close_pair(const struct pair *pair) {
  int error = errno;
  if (pair->from >= 0) close(pair->from);
  if (pair->to >= 0) close(pair->to);
  errno = error;
}

void open_up(const struct pair *pair) {
  if ((pair->like.st_mode & 0300) != 0300) fchmod(pair->from, (pair->like.st_mode & 07777) | 0300);
}

/*
 * A folder that was moved in part is in both places, and what is left has its lower part, so the kernel does not rename it. Any other folder
 * of that name is somebody else's, and gets nothing. None with a lower part comes under a name later: the order of open and rename counts.
 */
static void take_back_folder(int from, int to, const char *name, unsigned depth) {
  if (unlinkat(to, name, AT_REMOVEDIR) == 0) return;
  struct pair pair = {.from = openat(from, name, FOLDER_FLAGS), .to = openat(to, name, FOLDER_FLAGS)};
  bool is_left = rename_entry(from, name, to, name, 0) != 0 && errno == EXDEV;
  if (is_left && pair.from >= 0 && pair.to >= 0 && depth < WHOLE_DEPTH_MAX) take_back(pair.from, pair.to, depth + 1);
  close_pair(&pair);
  unlinkat(to, name, AT_REMOVEDIR);
}

static bool take_back_entry(int from, int to, const char *name, unsigned depth) {
  if (rename_entry(to, name, from, name, NEVER_REPLACE) == 0) return true;
  if (errno == EEXIST && is_folder(to, name) && is_folder(from, name)) take_back_folder(from, to, name, depth);
  return false;
}

/* It needs no room: what stands for a moved entry in the writable layer is replaced. */
void take_back(int from, int to, unsigned depth) {
  fchmod(to, 0700);
  bool moved = true;
  for (int pass = 0; moved && pass < PASSES_MAX; pass++) {
    DIR *list = open_list(to);
    const char *name;
    moved = false;
    while (list != NULL && (name = next_entry(list)) != NULL) moved |= take_back_entry(from, to, name, depth);
    if (list != NULL) closedir(list);
  }
}

void undo(const struct pair *pair) {
  int error = errno;
  take_back(pair->from, pair->to, 0);
  if ((pair->like.st_mode & 0300) != 0300) fchmod(pair->from, pair->like.st_mode & 07777);
  set_times(pair->from, &pair->like);
  errno = error;
}

static void give_up(const struct pair *pair, int above, const char *name) {
  undo(pair);
  int error = errno;
  unlinkat(above, name, AT_REMOVEDIR);
  errno = error;
}

static bool move_folder(const struct pair *above, const char *name, time_t until, unsigned depth) {
  struct pair pair;
  errno = ELOOP;
  if (depth > WHOLE_DEPTH_MAX) return false;
  bool opened = open_pair(&pair, above->from, name, above->to, name), moved = false;
  if (opened) open_up(&pair);
  for (int pass = 0; opened && !moved && pass < PASSES_MAX; pass++) {
    if (!move_entries(&pair, until, depth) || !make_alike(&pair)) break;
    moved = unlinkat(above->from, name, AT_REMOVEDIR) == 0;
    if (!moved && (!is_taken(errno) || fchmod(pair.to, 0700) != 0)) break;
  }
  if (opened && !moved) give_up(&pair, above->to, name);
  close_pair(&pair);
  return moved;
}

static bool move_entry(const struct pair *pair, const char *name, time_t until, unsigned depth) {
  if (rename_entry(pair->from, name, pair->to, name, NEVER_REPLACE) == 0 || errno == ENOENT) return true;
  return errno == EXDEV && is_folder(pair->from, name) && move_folder(pair, name, until, depth + 1);
}

/* readdir may pass over entries while others go. Only a pass that finds none proves that the folder is empty. */
bool move_entries(const struct pair *pair, time_t until, unsigned depth) {
  for (int pass = 0; pass < PASSES_MAX; pass++) {
    DIR *list = open_list(pair->from);
    if (list == NULL) return false;
    const char *name;
    bool is_empty = true, moved = true;
    while (moved && (name = next_entry(list)) != NULL) {
      is_empty = false;
      moved = move_entry(pair, name, until, depth);
      if (moved && is_past(until)) {
        errno = ETIMEDOUT;
        moved = false;
      }
    }
    int error = errno;
    closedir(list);
    errno = error;
    if (!moved) return false;
    if (is_empty) return true;
  }
  errno = EBUSY;
  return false;
}

