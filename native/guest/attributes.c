/* STAT, SET_ATTRIBUTES and the extended attributes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "entry.h"
#include "work.h"

/* The kernel's bound on one value and on one list of names. */
#define XATTR_BYTES 65536u

void serve_stat(struct work *work) {
  const char *path = work->request->path;
  struct stat status;
  int flags = has_flag(work->request, FLAG_FOLLOW) ? 0 : AT_SYMLINK_NOFOLLOW;
  if (fstatat(AT_FDCWD, path, &status, flags) != 0) work_fail(work, "stat", path);
  struct field_writer fields = work_fields(work);
  put_entry(work, &fields, &(struct place){AT_FDCWD, path, path}, &status);
  work_done(work, &fields);
}

static void set_mode(struct work *work, const char *path, bool follow) {
  /* A symbolic link has no mode of its own. */
  int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  if (fchmodat(AT_FDCWD, path, work_mode(work, work->request->mode), flags) != 0) work_fail(work, "change the mode of", path);
}

static void set_mtime(struct work *work, const char *path, bool follow) {
  uint64_t ns = work->request->mtime_ns;
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)}};
  if (utimensat(AT_FDCWD, path, times, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) work_fail(work, "change the time of", path);
}

void serve_set_attributes(struct work *work) {
  const char *path = work->request->path;
  struct stat status;
  bool follow = has_flag(work->request, FLAG_FOLLOW);
  if (fstatat(AT_FDCWD, path, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) work_fail(work, "change", path);
  if (has_field(work->request, TAG_MODE)) set_mode(work, path, follow || !S_ISLNK(status.st_mode));
  if (has_field(work->request, TAG_MTIME_NS)) set_mtime(work, path, follow);
  work_done(work, NULL);
}

/* No link is followed: a program that puts one in the place of a file gains nothing. A link itself has no attributes of users. */
void serve_get_xattr(struct work *work) {
  char value[XATTR_BYTES];
  ssize_t length = lgetxattr(work->request->path, work->request->name, value, sizeof value);
  if (length < 0) work_fail(work, "read an attribute of", work->request->path);
  struct field_writer fields = work_fields(work);
  put_bytes(&fields, TAG_VALUE, value, (size_t)length);
  work_done(work, &fields);
}

void serve_set_xattr(struct work *work) {
  const struct request *request = work->request;
  if (lsetxattr(request->path, request->name, request->value, request->value_length, 0) != 0) work_fail(work, "set an attribute of", request->path);
  work_done(work, NULL);
}

void serve_remove_xattr(struct work *work) {
  if (lremovexattr(work->request->path, work->request->name) != 0) work_fail(work, "remove an attribute of", work->request->path);
  work_done(work, NULL);
}

void serve_list_xattrs(struct work *work) {
  char names[XATTR_BYTES];
  ssize_t length = llistxattr(work->request->path, names, sizeof names);
  if (length < 0) work_fail(work, "list the attributes of", work->request->path);
  for (size_t at = 0; at < (size_t)length; at += strnlen(&names[at], (size_t)length - at) + 1) {
    struct field_writer fields = work_fields(work);
    put_text(&fields, TAG_NAME, &names[at]);
    work_send(work, FRAME_ENTRY, &fields);
  }
  work_done(work, NULL);
}
