#include "pattern.h"

#include <string.h>

#include "frames.h"
#include "jail.h"

#define FIELD_HEADER_BYTES 5u

struct value {
  const uint8_t *bytes; /* NULL: there is no such field */
  size_t length;
};

/* Steps to the next field. False at the end, and at a length that leads past it: the keeper refuses such a specification. */
static bool next(const uint8_t *fields, size_t length, size_t *at, uint8_t *tag, struct value *value) {
  if (length - *at < FIELD_HEADER_BYTES) return false;
  const uint8_t *header = fields + *at;
  *tag = header[0];
  *value = (struct value){.bytes = header + FIELD_HEADER_BYTES, .length = get_u32(header + 1)};
  if (value->length > length - *at - FIELD_HEADER_BYTES) return false;
  *at += FIELD_HEADER_BYTES + value->length;
  return true;
}

static struct value find(const uint8_t *fields, size_t length, uint8_t tag) {
  struct value value;
  uint8_t found;
  for (size_t at = 0; next(fields, length, &at, &found, &value);)
    if (found == tag) return value;
  return (struct value){.bytes = NULL};
}

static bool is_number(struct value value, uint8_t number) { return value.bytes != NULL && value.length == 1 && value.bytes[0] == number; }

/* A first process is born into its group of version 2, which has the name of the run. */
static bool has_cgroup_v2(const uint8_t *fields, size_t length) {
  struct value value;
  uint8_t tag;
  for (size_t at = 0; next(fields, length, &at, &tag, &value);)
    if (tag == TAG_CGROUP && is_number(find(value.bytes, value.length, TAG_KIND), CGROUP_V2)) return true;
  return false;
}

static void copy(struct field_writer *to, const uint8_t *fields, size_t length, uint8_t tag) {
  struct value value = find(fields, length, tag);
  if (value.bytes != NULL) put_bytes(to, tag, value.bytes, value.length);
}

/* The folder of the sockets of all sandboxes, in which the holder's socket lies. */
static void copy_sockets_parent(struct field_writer *to, const uint8_t *fields, size_t length) {
  struct value sockets = find(fields, length, TAG_SOCKETS);
  while (sockets.length > 0 && sockets.bytes[sockets.length - 1] != '/') sockets.length--;
  if (sockets.bytes != NULL) put_bytes(to, TAG_SOCKETS, sockets.bytes, sockets.length);
}

void read_pattern(const uint8_t *fields, size_t length, struct pattern *pattern) {
  static const uint8_t SAME[] = {TAG_SLOTS, TAG_SUBUID, TAG_SUBGID, TAG_NEWUIDMAP, TAG_NEWGIDMAP};
  struct field_writer to;
  pattern->length = 0;
  if (has_cgroup_v2(fields, length)) return;
  field_writer_init(&to, pattern->bytes, sizeof pattern->bytes);
  copy(&to, fields, length, TAG_ID_MAP);
  for (size_t i = 0; i < sizeof SAME; i++) copy(&to, fields, length, SAME[i]);
  /* Whose layers are in memory decides which user namespace is above the sandbox's, but for root. */
  if (!is_number(find(fields, length, TAG_ID_MAP), ID_MAP_SLOT)) {
    copy(&to, fields, length, TAG_STORAGE);
    copy_sockets_parent(&to, fields, length);
  }
  if (!to.overflow) pattern->length = to.length;
}

bool is_same_pattern(const struct pattern *one, const struct pattern *other) {
  return one->length == other->length && memcmp(one->bytes, other->bytes, one->length) == 0;
}
