#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "work.h"

uint8_t entry_type(mode_t mode) {
  if (S_ISREG(mode)) return ENTRY_TYPE_FILE;
  if (S_ISDIR(mode)) return ENTRY_TYPE_DIRECTORY;
  return S_ISLNK(mode) ? ENTRY_TYPE_LINK : ENTRY_TYPE_OTHER;
}

bool path_of(int fd, char *to, size_t capacity) {
  char link[48];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, to, capacity - 1);
  if (length < 0) return false;
  if ((size_t)length == capacity - 1) {
    errno = ENAMETOOLONG;
    return false;
  }
  to[length] = 0;
  return true;
}

static void put_link(struct field_writer *fields, const struct place *place) {
  char text[PATH_MAX];
  ssize_t length = readlinkat(place->folder, place->name, text, sizeof text);
  if (length >= 0) put_bytes(fields, TAG_TARGET, text, (size_t)length);
  int end = openat(place->folder, place->name, O_PATH | O_CLOEXEC);
  if (end < 0) return;
  struct stat status;
  if (path_of(end, text, sizeof text) && fstat(end, &status) == 0) {
    put_text(fields, TAG_RESOLVED, text);
    put_number(fields, TAG_RESOLVED_TYPE, entry_type(status.st_mode));
    put_number(fields, TAG_RESOLVED_MODE, status.st_mode & 07777);
  }
  close(end);
}

/* Names and values of all that an entry can have: together with its paths they fit into a frame. */
#define NAMES_BYTES 8192u
#define ATTRIBUTES_BYTES 16384u

/* One attribute as NAME, NUL, VALUE. False: there is no room for it. */
static bool put_attribute(struct field_writer *fields, const char *path, const char *name, size_t room) {
  char bytes[ATTRIBUTES_BYTES];
  size_t length = strlen(name) + 1;
  if (length >= room) return false;
  memcpy(bytes, name, length);
  ssize_t value = lgetxattr(path, name, &bytes[length], room - length);
  if (value < 0) return errno != ERANGE;
  put_bytes(fields, TAG_ATTRIBUTE, bytes, length + (size_t)value);
  return true;
}

/* The attributes whose names begin with the request's NAME, as many as there is room for. No link is followed. */
static void put_attributes(struct work *work, struct field_writer *fields, const struct place *place) {
  const char *prefix = work->request->name;
  char path[PATH_MAX], names[NAMES_BYTES];
  int printed = place->folder == AT_FDCWD ? snprintf(path, sizeof path, "%s", place->name) : snprintf(path, sizeof path, "/proc/self/fd/%d/%s", place->folder, place->name);
  if (printed < 0 || (size_t)printed >= sizeof path) return;
  ssize_t length = llistxattr(path, names, sizeof names);
  size_t before = fields->length;
  for (size_t at = 0; length > 0 && at < (size_t)length; at += strnlen(&names[at], (size_t)length - at) + 1) {
    if (strncmp(&names[at], prefix, strlen(prefix)) != 0) continue;
    size_t used = fields->length - before;
    if (used >= ATTRIBUTES_BYTES || !put_attribute(fields, path, &names[at], ATTRIBUTES_BYTES - used)) return;
  }
}

void put_entry(struct work *work, struct field_writer *fields, const struct place *place, const struct stat *status) {
  put_text(fields, TAG_PATH, place->shown);
  put_number(fields, TAG_TYPE, entry_type(status->st_mode));
  put_number(fields, TAG_SIZE, (uint64_t)status->st_size);
  put_number(fields, TAG_MODE, status->st_mode & 07777);
  put_number(fields, TAG_UID, status->st_uid);
  put_number(fields, TAG_GID, status->st_gid);
  put_text(fields, TAG_OWNER, name_of_user(&work->names, status->st_uid));
  put_text(fields, TAG_GROUP, name_of_group(&work->names, status->st_gid));
  put_number(fields, TAG_MTIME_NS, (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec);
  put_number(fields, TAG_INODE, status->st_ino);
  put_number(fields, TAG_LINKS, status->st_nlink);
  if (S_ISLNK(status->st_mode)) put_link(fields, place);
  else if (work->request->name != NULL) put_attributes(work, fields, place);
}
