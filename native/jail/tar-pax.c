/* The records of pax headers: "LENGTH KEY=VALUE\n". */
#include <string.h>

#include "tar.h"

#define ATTRIBUTE "SCHILY.xattr."
#define SPARSE "GNU.sparse."
#define DIGITS_MAX 18u
#define NANO_DIGITS 9u

struct record {
  const char *key, *value;
  size_t value_length;
};

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/* Returns the end of the digits. So many fit into the number. */
static const char *read_digits(const char *text, uint64_t *number) {
  *number = 0;
  for (size_t i = 0; is_digit(*text); i++, text++) {
    if (i == DIGITS_MAX) refuse_archive_at("a number in a pax header is too large");
    *number = *number * 10 + (uint64_t)(*text - '0');
  }
  return text;
}

static uint64_t parse_decimal(const char *text) {
  uint64_t number;
  if (*text == 0 || *read_digits(text, &number) != 0) refuse_archive_at("a size or an owner in a pax header is no number");
  return number;
}

static long read_fraction(const char *text, const char **end) {
  long nano = 0;
  size_t digits = 0;
  for (; is_digit(*text); text++)
    if (digits < NANO_DIGITS) nano = nano * 10 + (*text - '0'), digits++;
  for (; digits < NANO_DIGITS; digits++) nano *= 10;
  *end = text;
  return nano;
}

static struct timespec parse_time(const char *text) {
  bool negative = *text == '-';
  uint64_t seconds;
  long nano = 0;
  const char *end = read_digits(text + negative, &seconds);
  if (*end == '.') nano = read_fraction(end + 1, &end);
  if (*end != 0) refuse_archive_at("a time in a pax header is none");
  if (!negative) return (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = nano};
  return nano == 0 ? (struct timespec){.tv_sec = -(time_t)seconds} : (struct timespec){.tv_sec = -(time_t)seconds - 1, .tv_nsec = 1000000000L - nano};
}

static bool set_number(struct pax *pax, const struct record *record) {
  const char *key = record->key;
  unsigned number = strcmp(key, "size") == 0 ? PAX_SIZE : strcmp(key, "uid") == 0 ? PAX_UID : strcmp(key, "gid") == 0 ? PAX_GID : strcmp(key, "mtime") == 0 ? PAX_MTIME : 0u;
  if (number == 0) return false;
  if (record->value_length == 0) { /* what the header says holds again */
    pax->set &= ~number;
    return true;
  }
  pax->set |= number;
  if (number == PAX_SIZE) pax->size = parse_decimal(record->value);
  if (number == PAX_UID) pax->uid = parse_decimal(record->value);
  if (number == PAX_GID) pax->gid = parse_decimal(record->value);
  if (number == PAX_MTIME) pax->mtime = parse_time(record->value);
  return true;
}

static const char *text_of(const struct record *record) {
  if (strlen(record->value) != record->value_length) refuse_archive_at("a name in a pax header has a NUL in it");
  return record->value_length == 0 ? NULL : record->value;
}

static void add_attribute(struct tar_entry *entry, const struct record *record) {
  if (entry->attribute_count == TAR_ATTRIBUTES_MAX) refuse_archive_at("an entry has too many extended attributes");
  entry->attributes[entry->attribute_count++] = (struct tar_attribute){record->key + strlen(ATTRIBUTE), (const uint8_t *)record->value, record->value_length};
}

static void refuse_sparse(const struct record *record) {
  if (begins(record->key, SPARSE)) refuse_archive_at("it has a sparse file, which layers of images do not have: write it without --sparse");
}

/* Takes the record at the start. Returns its length. */
static size_t next_record(char *records, size_t length, struct record *record) {
  uint64_t size;
  const char *key = read_digits(records, &size);
  size_t digits = (size_t)(key - records);
  char *equals = digits > 0 && *key == ' ' && size <= length && size > digits + 2 ? memchr(key + 1, '=', size - digits - 2) : NULL;
  if (equals == NULL || records[size - 1] != '\n') refuse_archive_at("a pax header is malformed");
  *equals = 0;
  records[size - 1] = 0;
  *record = (struct record){.key = key + 1, .value = equals + 1, .value_length = (size_t)(records + size - 1 - (equals + 1))};
  if (strlen(record->key) != (size_t)(equals - record->key)) refuse_archive_at("a pax header is malformed");
  return (size_t)size;
}

void parse_pax(char *records, size_t length, struct pax *pax, struct tar_entry *entry) {
  struct record record;
  for (size_t at = 0; at < length;) {
    at += next_record(records + at, length - at, &record);
    refuse_sparse(&record);
    if (set_number(pax, &record)) continue;
    if (strcmp(record.key, "path") == 0) pax->path = text_of(&record);
    else if (strcmp(record.key, "linkpath") == 0) pax->link = text_of(&record);
    else if (begins(record.key, ATTRIBUTE)) add_attribute(entry, &record);
  }
}

/* Programs do not agree on what such records mean, so those that would say what is written, and where, are refused. */
void parse_global_pax(char *records, size_t length, struct pax *pax) {
  struct record record;
  for (size_t at = 0; at < length;) {
    at += next_record(records + at, length - at, &record);
    bool is_of_one = strcmp(record.key, "path") == 0 || strcmp(record.key, "linkpath") == 0 || strcmp(record.key, "size") == 0 || begins(record.key, ATTRIBUTE);
    refuse_sparse(&record);
    if (is_of_one) refuse_archive_at("a global pax header names a path, a size or attributes");
    set_number(pax, &record);
  }
}
