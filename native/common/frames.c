#include "frames.h"

#include <string.h>

#define FIELD_HEADER_BYTES 5u

uint16_t get_u16(const uint8_t *bytes) { return (uint16_t)((bytes[0] << 8) | bytes[1]); }

uint32_t get_u32(const uint8_t *bytes) {
  return ((uint32_t)bytes[0] << 24) | ((uint32_t)bytes[1] << 16) | ((uint32_t)bytes[2] << 8) | (uint32_t)bytes[3];
}

uint64_t get_u64(const uint8_t *bytes) { return ((uint64_t)get_u32(bytes) << 32) | get_u32(bytes + 4); }

void put_u16(uint8_t *bytes, uint16_t value) {
  bytes[0] = (uint8_t)(value >> 8);
  bytes[1] = (uint8_t)(value & 0xff);
}

void put_u32(uint8_t *bytes, uint32_t value) {
  put_u16(bytes, (uint16_t)(value >> 16));
  put_u16(bytes + 2, (uint16_t)(value & 0xffff));
}

void put_u64(uint8_t *bytes, uint64_t value) {
  put_u32(bytes, (uint32_t)(value >> 32));
  put_u32(bytes + 4, (uint32_t)(value & 0xffffffffu));
}

enum head_result parse_head(const uint8_t bytes[HEAD_BYTES], struct head *head) {
  if (bytes[0] != 'B' || bytes[1] != 'J') return HEAD_MALFORMED;
  if (bytes[2] != VERSION) return HEAD_WRONG_VERSION;
  head->operation = bytes[3];
  head->length = get_u32(bytes + 4);
  return head->length <= FIELDS_MAX_BYTES ? HEAD_OK : HEAD_MALFORMED;
}

void write_head(uint8_t bytes[HEAD_BYTES], struct head head) {
  bytes[0] = 'B';
  bytes[1] = 'J';
  bytes[2] = VERSION;
  bytes[3] = head.operation;
  put_u32(bytes + 4, head.length);
}

bool parse_frame_header(const uint8_t bytes[FRAME_HEADER_BYTES], struct frame_header *header) {
  header->type = bytes[0];
  header->channel = bytes[1];
  header->length = get_u32(bytes + 4);
  return header->type >= FRAME_DATA && header->type <= FRAME_DETACH && get_u16(bytes + 2) == 0 && header->length <= PAYLOAD_MAX_BYTES;
}

void write_frame_header(uint8_t bytes[FRAME_HEADER_BYTES], struct frame_header header) {
  bytes[0] = header.type;
  bytes[1] = header.channel;
  put_u16(bytes + 2, 0);
  put_u32(bytes + 4, header.length);
}

enum shape { UNKNOWN, TEXT, BYTES, U8, U16, U32, U64 };

struct tag_shape {
  enum shape shape;
  bool many;
};

/* One row for each tag, as in src/protocol/wire.ts. A tag without a row is refused. BYTES may hold a NUL; TEXT may not. */
static const struct tag_shape TAGS[256] = {
    [TAG_SECRET] = {TEXT, false},
    [TAG_ARG] = {TEXT, true},
    [TAG_ENV] = {TEXT, true},
    [TAG_CWD] = {TEXT, false},
    [TAG_USER] = {TEXT, false},
    [TAG_TIMEOUT_MS] = {U32, false},
    [TAG_FLAGS] = {U32, false},
    [TAG_ROWS] = {U16, false},
    [TAG_COLS] = {U16, false},
    [TAG_CHANNELS] = {U8, false},
    [TAG_PORT] = {U16, false},
    [TAG_SERVICE] = {TEXT, false},
    [TAG_PATH] = {TEXT, false},
    [TAG_TARGET] = {TEXT, false},
    [TAG_MODE] = {U32, false},
    [TAG_OFFSET] = {U64, false},
    [TAG_LIMIT] = {U64, false},
    [TAG_DEPTH] = {U32, false},
    [TAG_NAME] = {TEXT, false},
    [TAG_VALUE] = {BYTES, false},
    [TAG_PID] = {U32, false},
    [TAG_SIGNAL] = {U32, false},
    [TAG_TYPE] = {U8, false},
    [TAG_SIZE] = {U64, false},
    [TAG_UID] = {U32, false},
    [TAG_GID] = {U32, false},
    [TAG_OWNER] = {TEXT, false},
    [TAG_GROUP] = {TEXT, false},
    [TAG_MTIME_NS] = {U64, false},
    [TAG_INODE] = {U64, false},
    [TAG_LINKS] = {U32, false},
    [TAG_RESOLVED] = {TEXT, false},
    [TAG_KIND] = {U8, false},
    [TAG_PPID] = {U32, false},
    [TAG_PGID] = {U32, false},
    [TAG_SID] = {U32, false},
    [TAG_MEMORY] = {U64, false},
    [TAG_CPU_US] = {U64, false},
    [TAG_STARTED_MS] = {U64, false},
    [TAG_PROCESSES_COUNT] = {U32, false},
    [TAG_DISK_USED] = {U64, false},
    [TAG_DISK_TOTAL] = {U64, false},
    [TAG_UPTIME_MS] = {U64, false},
    [TAG_PEER_UID] = {U32, false},
    [TAG_PEER_PID] = {U32, false},
    [TAG_DEADLINE_MS] = {U64, false},
    [TAG_REASON] = {TEXT, false},
    [TAG_PHASE] = {U8, false},
    [TAG_MEMORY_PEAK] = {U64, false},
    [TAG_OOM_KILLS] = {U32, false},
    [TAG_EXIT] = {U32, false},
    [TAG_ADDRESS] = {BYTES, true},
    [TAG_ACTION] = {U8, false},
    [TAG_DISK_FULL] = {U8, false},
    [TAG_RESOLVED_TYPE] = {U8, false},
    [TAG_RESOLVED_MODE] = {U32, false},
    [TAG_ATTRIBUTE] = {BYTES, true},
    [TAG_IDLE_MS] = {U64, false},
    [TAG_MEMORY_AWAKE] = {U64, false},
    /* These tags occur in the jail's specification alone. The values of SETUP and CGROUP are field lists. */
    [TAG_ID] = {TEXT, false},
    [TAG_HOSTNAME] = {TEXT, false},
    [TAG_FOLDER] = {TEXT, false},
    [TAG_SOCKETS] = {TEXT, false},
    [TAG_SLOTS] = {TEXT, false},
    [TAG_SLOT] = {U32, false},
    [TAG_ID_MAP] = {U8, false},
    [TAG_SUBUID] = {U32, false},
    [TAG_SUBGID] = {U32, false},
    [TAG_LIMIT_MEMORY] = {U64, false},
    [TAG_LIMIT_CPU_MILLI] = {U32, false},
    [TAG_LIMIT_PIDS] = {U32, false},
    [TAG_LIMIT_DISK] = {U64, false},
    [TAG_LIMIT_FILES] = {U32, false},
    [TAG_CGROUP] = {BYTES, true},
    [TAG_STORAGE] = {U8, false},
    [TAG_SETUP] = {BYTES, true},
    [TAG_LOWER] = {TEXT, true},
    [TAG_IDS] = {U8, false},
    [TAG_WORKSPACE_UID] = {U32, false},
    [TAG_WORKSPACE_GID] = {U32, false},
    [TAG_LAYERS] = {TEXT, false},
    [TAG_NEWUIDMAP] = {TEXT, false},
    [TAG_NEWGIDMAP] = {TEXT, false},
    [TAG_RUN] = {U32, false},
    [TAG_SEED] = {TEXT, false},
    /* Between the host and `compare` alone. The values are field lists. */
    [TAG_BEFORE] = {BYTES, false},
    [TAG_AFTER] = {BYTES, false},
    [TAG_FILE] = {TEXT, false},
    [TAG_ATTRIBUTES] = {BYTES, false},
};

static size_t width_of(enum shape shape) {
  switch (shape) {
    case U8: return 1;
    case U16: return 2;
    case U32: return 4;
    case U64: return 8;
    case UNKNOWN:
    case TEXT:
    case BYTES: return 0;
  }
  return 0;
}

void fields_init(struct fields *fields, uint8_t *bytes, size_t length) {
  memset(fields, 0, sizeof *fields);
  fields->bytes = bytes;
  fields->length = length;
}

static bool repeats(struct fields *fields, uint8_t tag) {
  uint8_t bit = (uint8_t)(1u << (tag & 7u));
  bool seen = (fields->seen[tag >> 3] & bit) != 0;
  fields->seen[tag >> 3] = (uint8_t)(fields->seen[tag >> 3] | bit);
  return seen && !TAGS[tag].many;
}

static uint64_t read_number(const uint8_t *value, size_t width) {
  uint64_t number = 0;
  for (size_t i = 0; i < width; i++) number = (number << 8) | value[i];
  return number;
}

/* Moves the value down by one byte, over its length field. This makes room for a NUL behind the value. */
static const char *terminate(uint8_t *value, size_t length) {
  memmove(value - 1, value, length);
  value[(ptrdiff_t)length - 1] = 0;
  return (const char *)(value - 1);
}

static bool read_field(struct fields *fields, struct field *field) {
  size_t left = fields->length - fields->at;
  if (left < FIELD_HEADER_BYTES) return false;
  uint8_t *header = fields->bytes + fields->at;
  field->tag = header[0];
  field->length = get_u32(header + 1);
  field->number = 0;
  field->text = NULL;
  enum shape shape = TAGS[field->tag].shape;
  size_t width = width_of(shape);
  uint8_t *value = header + FIELD_HEADER_BYTES;
  if (shape == UNKNOWN || field->length > left - FIELD_HEADER_BYTES || repeats(fields, field->tag)) return false;
  if (width != 0 && field->length != width) return false;
  if (shape == TEXT && memchr(value, 0, field->length) != NULL) return false;
  fields->at += FIELD_HEADER_BYTES + field->length;
  if (width != 0) field->number = read_number(value, width);
  else field->text = terminate(value, field->length);
  return true;
}

enum field_result fields_next(struct fields *fields, struct field *field) {
  if (fields->at == fields->length) return FIELD_END;
  if (fields->at < fields->length && read_field(fields, field)) return FIELD_READ;
  fields->at = fields->length + 1;
  return FIELD_BAD;
}

void field_writer_init(struct field_writer *writer, uint8_t *bytes, size_t capacity) {
  writer->bytes = bytes;
  writer->capacity = capacity;
  writer->length = 0;
  writer->overflow = false;
}

bool has_room(const struct field_writer *writer, size_t length) {
  size_t left = writer->capacity - writer->length;
  return !writer->overflow && left >= FIELD_HEADER_BYTES && length <= left - FIELD_HEADER_BYTES;
}

static uint8_t *reserve(struct field_writer *writer, uint8_t tag, size_t length) {
  if (!has_room(writer, length)) {
    writer->overflow = true;
    return NULL;
  }
  uint8_t *header = writer->bytes + writer->length;
  header[0] = tag;
  put_u32(header + 1, (uint32_t)length);
  writer->length += FIELD_HEADER_BYTES + length;
  return header + FIELD_HEADER_BYTES;
}

void put_number(struct field_writer *writer, uint8_t tag, uint64_t number) {
  size_t width = width_of(TAGS[tag].shape);
  uint8_t *value = reserve(writer, tag, width);
  if (value == NULL) return;
  for (size_t i = width; i > 0; i--) {
    value[i - 1] = (uint8_t)(number & 0xff);
    number >>= 8;
  }
}

void put_bytes(struct field_writer *writer, uint8_t tag, const void *value, size_t length) {
  uint8_t *to = reserve(writer, tag, length);
  if (to != NULL && length > 0) memcpy(to, value, length);
}

void put_text(struct field_writer *writer, uint8_t tag, const char *text) { put_bytes(writer, tag, text, strlen(text)); }
