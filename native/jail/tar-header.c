/* One header block of a tar archive. */
#include <string.h>

#include "tar.h"

struct slice {
  size_t at, length;
};

static const struct slice NAME = {0, 100}, MODE = {100, 8}, UID = {108, 8}, GID = {116, 8}, SIZE = {124, 12}, MTIME = {136, 12}, SUM = {148, 8}, LINK = {157, 100};
static const struct slice PREFIX = {345, 155}, STAR_PREFIX = {345, 131};
#define TYPE_AT 156u
#define MAGIC_AT 257u
#define STAR_MAGIC_AT 508u

/* A number too large for octal digits: the first bit is set, the second is the sign, and the rest is the number. */
static int64_t parse_binary(const uint8_t *field, size_t length) {
  bool negative = (field[0] & 0x40) != 0;
  uint64_t number = 0;
  for (size_t i = 0; i < length; i++) {
    uint8_t byte = i == 0 ? field[0] & 0x3f : field[i];
    if (negative) byte = i == 0 ? (uint8_t)(~byte & 0x3f) : (uint8_t)~byte;
    if (number > (uint64_t)INT64_MAX >> 8) refuse_archive_at("a number in a header is too large");
    number = number << 8 | byte;
  }
  return negative ? -(int64_t)number - 1 : (int64_t)number;
}

static bool is_blank(uint8_t byte) { return byte == ' ' || byte == 0; }

/* -1: it is no number. */
static int64_t parse_octal(const uint8_t *field, size_t length) {
  uint64_t number = 0;
  size_t i = 0;
  while (i < length && is_blank(field[i])) i++;
  for (; i < length && !is_blank(field[i]); i++) {
    if (field[i] < '0' || field[i] > '7') return -1;
    number = number << 3 | (uint64_t)(field[i] - '0'); /* 12 digits at most */
  }
  return (int64_t)number;
}

static int64_t parse_number(const uint8_t *block, struct slice slice) {
  const uint8_t *field = block + slice.at;
  if ((field[0] & 0x80) != 0) return parse_binary(field, slice.length);
  int64_t number = parse_octal(field, slice.length);
  if (number < 0) refuse_archive_at("a number in a header is none");
  return number;
}

static uint64_t parse_size(const uint8_t *block, struct slice slice) {
  int64_t number = parse_number(block, slice);
  if (number < 0) refuse_archive_at("a size or an owner in a header is negative");
  return (uint64_t)number;
}

/* Some old programs summed signed bytes. */
static void check_sum(const uint8_t *block) {
  int64_t wanted = parse_octal(block + SUM.at, SUM.length), plain = 0, with_sign = 0;
  for (size_t i = 0; i < TAR_BLOCK; i++) {
    uint8_t byte = i >= SUM.at && i < SUM.at + SUM.length ? ' ' : block[i];
    plain += byte;
    with_sign += (int8_t)byte;
  }
  if (wanted != plain && wanted != with_sign) refuse_archive_at("the checksum of a header is wrong: it is no tar archive, or is damaged");
}

static size_t copy_text(const uint8_t *block, struct slice slice, char *to) {
  size_t length = strnlen((const char *)block + slice.at, slice.length);
  memcpy(to, block + slice.at, length);
  to[length] = 0;
  return length;
}

/* GNU's own format has other things where ustar has the first part of a long name. */
static void read_name(const uint8_t *block, char name[257]) {
  bool is_star = memcmp(block + STAR_MAGIC_AT, "tar", 4) == 0;
  size_t length = memcmp(block + MAGIC_AT, "ustar", 6) == 0 ? copy_text(block, is_star ? STAR_PREFIX : PREFIX, name) : 0;
  if (length > 0) name[length++] = '/';
  copy_text(block, NAME, name + length);
}

void parse_tar_header(const uint8_t block[TAR_BLOCK], struct tar_header *header) {
  check_sum(block);
  header->type = (char)block[TYPE_AT];
  header->mode = (unsigned)(parse_size(block, MODE) & 07777);
  header->uid = parse_size(block, UID);
  header->gid = parse_size(block, GID);
  header->size = parse_size(block, SIZE);
  header->mtime = parse_number(block, MTIME);
  read_name(block, header->name);
  copy_text(block, LINK, header->link);
}
