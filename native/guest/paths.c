/* MAKE_DIRECTORY, RENAME and SYMLINK, and helpers for paths. */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole-folder.h"
#include "work.h"

static size_t without_slashes(const char *path, size_t length) {
  while (length > 1 && path[length - 1] == '/') length--;
  return length;
}

bool parent_of(const char *path, char *to, size_t capacity) {
  size_t length = without_slashes(path, strlen(path));
  while (length > 0 && path[length - 1] != '/') length--;
  length = without_slashes(path, length);
  const char *parent = length == 0 ? "." : path;
  if (length == 0) length = 1;
  if (length >= capacity) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(to, parent, length);
  to[length] = 0;
  return true;
}

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool make_folder(const char *path) {
  if (mkdir(path, 0755) == 0) return true;
  int error = errno;
  if (is_folder(path)) return true;
  /* The path exists as a file or as a dangling link. */
  errno = error == EEXIST ? ENOTDIR : error;
  return false;
}

bool make_folders(const char *path) {
  if (is_folder(path)) return true;
  char copy[PATH_MAX];
  size_t length = strlen(path);
  if (length >= sizeof copy) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(copy, path, length + 1);
  for (size_t i = 1; i < length; i++) {
    if (copy[i] != '/') continue;
    copy[i] = 0;
    if (!make_folder(copy)) return false;
    copy[i] = '/';
  }
  return make_folder(copy);
}

void serve_make_directory(struct work *work) {
  const struct request *request = work->request;
  bool parents = has_flag(request, FLAG_PARENTS);
  if (parents && is_folder(request->path)) work_done(work, NULL);
  char parent[PATH_MAX];
  if (parents && (!parent_of(request->path, parent, sizeof parent) || !make_folders(parent))) work_fail(work, "make the folders above", request->path);
  mode_t mode = has_field(request, TAG_MODE) ? request->mode & 07777 : 0755;
  if (mkdir(request->path, mode) != 0 && !(parents && errno == EEXIST && is_folder(request->path))) work_fail(work, "make the folder", request->path);
  work_done(work, NULL);
}

/* The thread that prepares the renames of programs (jail/answers.h) may not read the memory of this process. So it does so by itself. */
static bool is_made_whole(const char *path) {
  char above[PATH_MAX], name[NAME_MAX + 1];
  if (!split_path(path, above, name)) return false;
  int parent = open(above[0] == 0 ? "." : above, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return false;
  struct whole whole;
  bool is_whole = open_whole(&whole, parent, name, (uint64_t)getpid()) && make_whole(&whole);
  close_whole(&whole);
  close(parent);
  return is_whole;
}

/* A rename to another mount fails for every file, and is not worth the work. */
static bool is_on_mount_of(const char *path, const char *target) {
  char above[PATH_MAX], name[NAME_MAX + 1];
  struct statx old, other;
  if (!split_path(target, above, name) || statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MNT_ID, &old) != 0) return false;
  return S_ISDIR(old.stx_mode) && statx(AT_FDCWD, above[0] == 0 ? "." : above, 0, STATX_MNT_ID, &other) == 0 && old.stx_mnt_id == other.stx_mnt_id;
}

static bool rename_path(const char *path, const char *target, unsigned flags) {
  if (renameat2(AT_FDCWD, path, AT_FDCWD, target, flags) == 0) return true;
  if (errno != EXDEV) return false;
  bool can_be_renamed = is_on_mount_of(path, target) && is_made_whole(path);
  errno = EXDEV;
  return can_be_renamed && renameat2(AT_FDCWD, path, AT_FDCWD, target, flags) == 0;
}

void serve_rename(struct work *work) {
  const struct request *request = work->request;
  unsigned flags = has_flag(request, FLAG_EXCLUSIVE) ? RENAME_NOREPLACE : 0;
  if (rename_path(request->path, request->target, flags)) work_done(work, NULL);
  /* If the source is missing, the error names the source. Otherwise it names the target. */
  struct stat status;
  int error = errno;
  bool there = lstat(request->path, &status) == 0;
  errno = error;
  work_fail(work, there ? "rename to" : "rename", there ? request->target : request->path);
}

void serve_symlink(struct work *work) {
  if (symlink(work->request->target, work->request->path) != 0) work_fail(work, "make the link", work->request->path);
  work_done(work, NULL);
}
