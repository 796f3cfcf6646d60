/* The extended attributes of an entry, as programs inside set them. The overlays keep marks of their own among them, which are left out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "compare.h"
#include "frames.h"

/* The kernel's bound of a list of names. */
#define NAMES_BYTES 65536u
#define NAME_BYTES_LEAST 6u /* "user.", and the NUL */

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static int compare_names(const void *one, const void *other) { return strcmp(*(const char *const *)one, *(const char *const *)other); }

/* Sorted, so that the same attributes are the same bytes, whatever order a file system lists them in. */
static size_t list_names(int fd, const char **sorted) {
  static char names[NAMES_BYTES];
  ssize_t length = flistxattr(fd, names, sizeof names);
  size_t count = 0;
  for (const char *name = names; length > 0 && name < names + length; name += strlen(name) + 1)
    if (begins(name, "user.") && !begins(name, "user.overlay.")) sorted[count++] = name;
  qsort(sorted, count, sizeof *sorted, compare_names);
  return count;
}

/* False: there is no room for it. An attribute that is gone meanwhile takes none. */
static bool add(struct attributes *attributes, int fd, const char *name) {
  size_t at = attributes->length + strlen(name) + 1;
  if (at + sizeof(uint32_t) > sizeof attributes->bytes) return false;
  uint8_t *value = &attributes->bytes[at + sizeof(uint32_t)];
  size_t room = sizeof attributes->bytes - at - sizeof(uint32_t);
  /* A size of 0 would ask how long the value is. */
  ssize_t length = room == 0 ? fgetxattr(fd, name, NULL, 0) : fgetxattr(fd, name, value, room);
  if (length < 0) return errno != ERANGE && errno != E2BIG;
  if ((size_t)length > room) return false;
  memcpy(&attributes->bytes[attributes->length], name, strlen(name) + 1);
  put_u32(&attributes->bytes[at], (uint32_t)length);
  attributes->length = at + sizeof(uint32_t) + (size_t)length;
  return true;
}

void read_attributes(int fd, struct attributes *attributes) {
  static const char *sorted[NAMES_BYTES / NAME_BYTES_LEAST];
  attributes->length = 0;
  attributes->is_too_long = false;
  size_t count = fd < 0 ? 0 : list_names(fd, sorted);
  for (size_t i = 0; i < count && !attributes->is_too_long; i++) attributes->is_too_long = !add(attributes, fd, sorted[i]);
  if (attributes->is_too_long) attributes->length = 0;
}

bool is_same_attributes(const struct attributes *one, const struct attributes *other) {
  if (one->is_too_long || other->is_too_long) return false;
  return one->length == other->length && memcmp(one->bytes, other->bytes, one->length) == 0;
}
