/* The first byte of the input chooses a decoder; the rest goes to it. The decoder must refuse the bytes, or its result must encode to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds) {
  if (!holds) abort();
}

static void decode_head(const uint8_t *data, size_t size) {
  uint8_t again[HEAD_BYTES];
  struct head head;
  if (size < HEAD_BYTES || parse_head(data, &head) != HEAD_OK) return;
  check(head.length <= FIELDS_MAX_BYTES);
  write_head(again, head);
  check(memcmp(again, data, HEAD_BYTES) == 0);
}

static void decode_frame_header(const uint8_t *data, size_t size) {
  uint8_t again[FRAME_HEADER_BYTES];
  struct frame_header header;
  if (size < FRAME_HEADER_BYTES || !parse_frame_header(data, &header)) return;
  check(header.length <= PAYLOAD_MAX_BYTES);
  write_frame_header(again, header);
  check(memcmp(again, data, FRAME_HEADER_BYTES) == 0);
}

static void put_again(struct field_writer *writer, const struct field *field) {
  if (field->text != NULL) put_bytes(writer, field->tag, field->text, field->length);
  else put_number(writer, field->tag, field->number);
}

/* The buffers are exactly as long as the input, so that the sanitizer sees a byte read or written beyond them. */
static void decode_fields(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size);
  uint8_t *again = malloc(size);
  if (size > 0) {
    check(bytes != NULL && again != NULL);
    memcpy(bytes, data, size);
  }
  struct fields fields;
  struct field field;
  struct field_writer writer;
  fields_init(&fields, bytes, size);
  field_writer_init(&writer, again, size);
  enum field_result result;
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    check(field.text == NULL || field.text[field.length] == 0);
    put_again(&writer, &field);
  }
  check(fields_next(&fields, &field) == result && !writer.overflow);
  check(result == FIELD_BAD || (writer.length == size && (size == 0 || memcmp(again, data, size) == 0)));
  free(bytes);
  free(again);
}

static void decode_request(const uint8_t *data, size_t size) {
  if (size == 0) return;
  uint8_t *bytes = malloc(size);
  check(bytes != NULL);
  memcpy(bytes, data, size);
  struct request request;
  const char *wrong = parse_request(&request, bytes[0], &bytes[1], size - 1);
  check(wrong != NULL || request.operation != OPERATION_EXEC || request.args.count > 0);
  free_request(&request);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  switch (data[0] % 4) {
    case 0: decode_head(&data[1], size - 1); break;
    case 1: decode_frame_header(&data[1], size - 1); break;
    case 2: decode_fields(&data[1], size - 1); break;
    default: decode_request(&data[1], size - 1); break;
  }
  return 0;
}
