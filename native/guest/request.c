#include "request.h"

#include <stdlib.h>
#include <string.h>

bool has_field(const struct request *request, uint8_t tag) { return tag < 64 && ((request->present >> tag) & 1u) != 0; }

bool has_flag(const struct request *request, uint32_t flag) { return (request->flags & flag) != 0; }

static bool append(struct text_list *list, const char *text) {
  if (list->count + 1 >= list->capacity) {
    size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
    char **items = realloc(list->items, capacity * sizeof *items);
    if (items == NULL) return false;
    list->items = items;
    list->capacity = capacity;
  }
  /* The request owns its buffer, so the const may go. execve takes texts without const. */
  list->items[list->count++] = (char *)(uintptr_t)text;
  list->items[list->count] = NULL;
  return true;
}

static void keep_address(struct request *request, const struct field *field) {
  struct address address = {0, 0};
  const uint8_t *bytes = (const uint8_t *)field->text;
  if (field->length == ADDRESS_BYTES) address = (struct address){get_u32(bytes), get_u16(&bytes[4])};
  if (request->address_count < ADDRESSES_MAX) request->addresses[request->address_count] = address;
  request->address_count++;
}

static bool keep_text(struct request *request, const struct field *field) {
  switch (field->tag) {
    case TAG_ARG: return append(&request->args, field->text);
    case TAG_ENV: return append(&request->env, field->text);
    case TAG_SECRET: request->secret = field->text; break;
    case TAG_CWD: request->cwd = field->text; break;
    case TAG_USER: request->user = field->text; break;
    case TAG_SERVICE: request->service = field->text; break;
    case TAG_PATH: request->path = field->text; break;
    case TAG_TARGET: request->target = field->text; break;
    case TAG_NAME: request->name = field->text; break;
    case TAG_ADDRESS: keep_address(request, field); break;
    case TAG_VALUE:
      request->value = field->text;
      request->value_length = field->length;
      break;
    default: break;
  }
  return true;
}

static void keep_number(struct request *request, const struct field *field) {
  switch (field->tag) {
    case TAG_OFFSET: request->offset = field->number; break;
    case TAG_LIMIT: request->limit = field->number; break;
    case TAG_MTIME_NS: request->mtime_ns = field->number; break;
    case TAG_TIMEOUT_MS: request->timeout_ms = (uint32_t)field->number; break;
    case TAG_FLAGS: request->flags = (uint32_t)field->number; break;
    case TAG_MODE: request->mode = (uint32_t)field->number; break;
    case TAG_DEPTH: request->depth = (uint32_t)field->number; break;
    case TAG_PID: request->pid = (uint32_t)field->number; break;
    case TAG_SIGNAL: request->signal = (uint32_t)field->number; break;
    case TAG_ROWS: request->rows = (uint16_t)field->number; break;
    case TAG_COLS: request->cols = (uint16_t)field->number; break;
    case TAG_PORT: request->port = (uint16_t)field->number; break;
    case TAG_CHANNELS: request->channels = (uint8_t)field->number; break;
    default: break;
  }
}

static const struct {
  uint8_t operation;
  uint8_t tag;
  const char *missing;
} REQUIRED[] = {
    {OPERATION_EXEC, TAG_ARG, "EXEC needs an ARG"},
    {OPERATION_DIAL, TAG_PORT, "DIAL needs a PORT"},
    {OPERATION_ACCEPT, TAG_SERVICE, "ACCEPT needs a SERVICE"},
    {OPERATION_LISTEN, TAG_SERVICE, "LISTEN needs a SERVICE"},
    {OPERATION_LISTEN, TAG_ADDRESS, "LISTEN needs an ADDRESS"},
    {OPERATION_ATTACH, TAG_NAME, "ATTACH needs a NAME"},
    {OPERATION_STAT, TAG_PATH, "STAT needs a PATH"},
    {OPERATION_LIST, TAG_PATH, "LIST needs a PATH"},
    {OPERATION_READ, TAG_PATH, "READ needs a PATH"},
    {OPERATION_WRITE, TAG_PATH, "WRITE needs a PATH"},
    {OPERATION_MAKE_DIRECTORY, TAG_PATH, "MAKE_DIRECTORY needs a PATH"},
    {OPERATION_RENAME, TAG_PATH, "RENAME needs a PATH"},
    {OPERATION_RENAME, TAG_TARGET, "RENAME needs a TARGET"},
    {OPERATION_REMOVE, TAG_PATH, "REMOVE needs a PATH"},
    {OPERATION_COPY, TAG_PATH, "COPY needs a PATH"},
    {OPERATION_COPY, TAG_TARGET, "COPY needs a TARGET"},
    {OPERATION_SYMLINK, TAG_PATH, "SYMLINK needs a PATH"},
    {OPERATION_SYMLINK, TAG_TARGET, "SYMLINK needs a TARGET"},
    {OPERATION_SET_ATTRIBUTES, TAG_PATH, "SET_ATTRIBUTES needs a PATH"},
    {OPERATION_GET_XATTR, TAG_PATH, "GET_XATTR needs a PATH"},
    {OPERATION_GET_XATTR, TAG_NAME, "GET_XATTR needs a NAME"},
    {OPERATION_SET_XATTR, TAG_PATH, "SET_XATTR needs a PATH"},
    {OPERATION_SET_XATTR, TAG_NAME, "SET_XATTR needs a NAME"},
    {OPERATION_SET_XATTR, TAG_VALUE, "SET_XATTR needs a VALUE"},
    {OPERATION_LIST_XATTRS, TAG_PATH, "LIST_XATTRS needs a PATH"},
    {OPERATION_REMOVE_XATTR, TAG_PATH, "REMOVE_XATTR needs a PATH"},
    {OPERATION_REMOVE_XATTR, TAG_NAME, "REMOVE_XATTR needs a NAME"},
    {OPERATION_WATCH, TAG_PATH, "WATCH needs a PATH"},
    {OPERATION_SIGNAL_PROCESS, TAG_PID, "SIGNAL_PROCESS needs a PID"},
    {OPERATION_SIGNAL_PROCESS, TAG_SIGNAL, "SIGNAL_PROCESS needs a SIGNAL"},
};

static const char *find_missing(const struct request *request) {
  for (size_t i = 0; i < sizeof REQUIRED / sizeof REQUIRED[0]; i++) {
    if (REQUIRED[i].operation == request->operation && !has_field(request, REQUIRED[i].tag)) return REQUIRED[i].missing;
  }
  return NULL;
}

const char *parse_request(struct request *request, uint8_t operation, uint8_t *bytes, size_t length) {
  memset(request, 0, sizeof *request);
  request->operation = operation;
  struct fields fields;
  struct field field;
  fields_init(&fields, bytes, length);
  enum field_result result;
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    if (field.tag < 64) request->present |= (uint64_t)1 << field.tag;
    if (field.text == NULL) keep_number(request, &field);
    else if (!keep_text(request, &field)) return "out of memory";
  }
  if (result == FIELD_BAD) return "the request's fields are malformed: an unknown or repeated tag, a wrong width, a NUL in a text, or a length past the end";
  return find_missing(request);
}

void free_request(struct request *request) {
  free(request->args.items);
  free(request->env.items);
  memset(request, 0, sizeof *request);
}
