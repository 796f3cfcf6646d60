/* What `compare` says, in frames on its standard output. The host reads as fast as it likes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "io.h"

#define OVERFLOW_ID 65534u
/* Two entries with the longest links or the most attributes, and a path. */
#define FRAME_BYTES PAYLOAD_MAX_BYTES
_Static_assert(2u * ATTRIBUTES_MAX_BYTES + 3u * PATH_MAX <= FRAME_BYTES, "an answer fits into a frame");
#define BUFFER_BYTES (64u * 1024)

static struct {
  uint8_t bytes[BUFFER_BYTES];
  size_t length;
} waiting;

static void flush(void) {
  if (waiting.length > 0 && !write_whole(STDOUT_FILENO, waiting.bytes, waiting.length)) die("answer");
  waiting.length = 0;
}

static void put_waiting(const void *bytes, size_t length) {
  if (length > sizeof waiting.bytes - waiting.length) flush();
  memcpy(waiting.bytes + waiting.length, bytes, length);
  waiting.length += length;
}

static void send(uint8_t type, const void *payload, size_t length) {
  uint8_t header[FRAME_HEADER_BYTES];
  write_frame_header(header, (struct frame_header){.type = type, .length = (uint32_t)length});
  put_waiting(header, sizeof header);
  if (length > 0) put_waiting(payload, length);
}

/* Root reads layers under the ids that they have on the disk; all others read them in a namespace with the sandbox's map. */
static uint32_t id_inside(const struct layer *layer, uint32_t id, uint32_t owner) {
  if (layer->is_mapped) return id;
  if (layer->ids == IDS_WORKSPACE) return id == owner ? INSIDE_USER_ID : OVERFLOW_ID;
  if (layer->ids == IDS_LAYER) id -= CANONICAL_FIRST_ID;
  return id < SLOT_SIZE ? id : OVERFLOW_ID;
}

uint32_t owner_inside(const struct found *found) { return id_inside(found->layer, found->status.st_uid, found->layer->owner); }

uint32_t group_inside(const struct found *found) { return id_inside(found->layer, found->status.st_gid, found->layer->group); }

static uint8_t type_of(mode_t mode) {
  if (S_ISREG(mode)) return ENTRY_TYPE_FILE;
  if (S_ISDIR(mode)) return ENTRY_TYPE_DIRECTORY;
  return S_ISLNK(mode) ? ENTRY_TYPE_LINK : ENTRY_TYPE_OTHER;
}

/* Which file it is, where it has several names. */
static void put_file(struct field_writer *fields, const struct stat *status) {
  char text[48];
  if (!S_ISREG(status->st_mode) || status->st_nlink < 2) return;
  snprintf(text, sizeof text, "%llx-%llx", (unsigned long long)status->st_dev, (unsigned long long)status->st_ino);
  put_text(fields, TAG_FILE, text);
}

static void put_attributes(struct field_writer *fields, const struct attributes *attributes) {
  if (attributes == NULL) return;
  if (attributes->length > 0) put_bytes(fields, TAG_ATTRIBUTES, attributes->bytes, attributes->length);
  if (attributes->is_too_long) put_number(fields, TAG_FLAGS, ENTRY_ATTRIBUTES_UNTOLD);
}

static void put_found(struct field_writer *fields, const struct shown *shown) {
  const struct stat *status = &shown->found->status;
  put_number(fields, TAG_TYPE, type_of(status->st_mode));
  put_number(fields, TAG_MODE, status->st_mode & 07777);
  put_number(fields, TAG_UID, owner_inside(shown->found));
  put_number(fields, TAG_GID, group_inside(shown->found));
  put_number(fields, TAG_SIZE, S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0);
  put_number(fields, TAG_MTIME_NS, (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec);
  if (S_ISLNK(status->st_mode)) put_bytes(fields, TAG_TARGET, shown->target, shown->target_length);
  put_file(fields, status);
  put_attributes(fields, shown->attributes);
}

static void put_side(struct field_writer *fields, uint8_t tag, const struct shown *shown) {
  static uint8_t bytes[FRAME_BYTES];
  struct field_writer entry;
  if (shown->found == NULL || !shown->found->is_there) return;
  field_writer_init(&entry, bytes, sizeof bytes);
  put_found(&entry, shown);
  put_bytes(fields, tag, bytes, entry.length);
}

static void put_path(struct field_writer *fields, const struct stack *stack, const char *path) {
  static char whole[2 * PATH_MAX];
  size_t target = strcmp(stack->target, "/") == 0 ? 0 : strlen(stack->target), length = strlen(path);
  if (target + length + 1 > sizeof whole) refuse("a path is too long");
  memcpy(whole, stack->target, target);
  if (length > 0 || target == 0) whole[target++] = '/';
  memcpy(whole + target, path, length);
  put_bytes(fields, TAG_PATH, whole, target + length);
}

void answer_change(const struct stack *stack, const char *path, const struct shown shown[SIDE_COUNT], unsigned flags) {
  static uint8_t bytes[FRAME_BYTES];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_path(&fields, stack, path);
  put_side(&fields, TAG_BEFORE, &shown[SIDE_BEFORE]);
  put_side(&fields, TAG_AFTER, &shown[SIDE_AFTER]);
  if (flags != 0) put_number(&fields, TAG_FLAGS, flags);
  if (fields.overflow) refuse("an answer is too long");
  send(FRAME_ENTRY, bytes, fields.length);
}

void answer_entry(const struct found *found) {
  uint8_t bytes[256];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_found(&fields, &(struct shown){.found = found});
  send(FRAME_REPLY, bytes, fields.length);
}

void answer_data(const void *bytes, size_t length) {
  flush();
  send(FRAME_DATA, bytes, length);
}

void answer_missing(const char *text) {
  flush();
  reply_error(STDOUT_FILENO, GUEST_ERROR_NOT_FOUND, 0, text);
}

void answer_end(void) {
  send(FRAME_END, NULL, 0);
  flush();
}
