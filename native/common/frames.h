/* The codec of the guest protocol: heads, fields, frames. Pure: no I/O, no allocation. Every length from outside is checked here. */
#ifndef BELLJAR_FRAMES_H
#define BELLJAR_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

uint16_t get_u16(const uint8_t *bytes);
uint32_t get_u32(const uint8_t *bytes);
uint64_t get_u64(const uint8_t *bytes);
void put_u16(uint8_t *bytes, uint16_t value);
void put_u32(uint8_t *bytes, uint32_t value);
void put_u64(uint8_t *bytes, uint64_t value);

struct head {
  uint8_t operation;
  /* Length of the fields that follow; at most FIELDS_MAX_BYTES. */
  uint32_t length;
};

enum head_result { HEAD_OK, HEAD_MALFORMED, HEAD_WRONG_VERSION };

enum head_result parse_head(const uint8_t bytes[HEAD_BYTES], struct head *head);
void write_head(uint8_t bytes[HEAD_BYTES], struct head head);

struct frame_header {
  uint8_t type;
  uint8_t channel;
  uint32_t length;
};

/* False for an unknown type, a payload beyond PAYLOAD_MAX_BYTES or reserved bytes that are not zero. */
bool parse_frame_header(const uint8_t bytes[FRAME_HEADER_BYTES], struct frame_header *header);
void write_frame_header(uint8_t bytes[FRAME_HEADER_BYTES], struct frame_header header);

struct field {
  uint8_t tag;
  /* Length of the value. The length of a number is its width. */
  size_t length;
  /* Numbers only. */
  uint64_t number;
  /* Text and bytes only. Points into the buffer of fields_init. A NUL follows the last byte. */
  const char *text;
};

struct fields {
  uint8_t *bytes;
  size_t length;
  size_t at;
  uint8_t seen[32];
};

enum field_result { FIELD_READ, FIELD_END, FIELD_BAD };

/* Reads a field list in place. Reading changes the buffer (each text gets its NUL). The buffer must outlive every field. */
void fields_init(struct fields *fields, uint8_t *bytes, size_t length);
/* FIELD_BAD for an unknown tag, a wrong width, a NUL in a text, a repeated single tag or a length past the end. Every later call says FIELD_BAD too. */
enum field_result fields_next(struct fields *fields, struct field *field);

/* Writes fields into a bounded buffer. A field that does not fit sets `overflow`; from then on nothing is written. */
struct field_writer {
  uint8_t *bytes;
  size_t capacity;
  size_t length;
  bool overflow;
};

void field_writer_init(struct field_writer *writer, uint8_t *bytes, size_t capacity);
/* Whether a field with a value of `length` bytes still fits. */
bool has_room(const struct field_writer *writer, size_t length);
void put_number(struct field_writer *writer, uint8_t tag, uint64_t number);
void put_bytes(struct field_writer *writer, uint8_t tag, const void *value, size_t length);
void put_text(struct field_writer *writer, uint8_t tag, const char *text);

#endif
