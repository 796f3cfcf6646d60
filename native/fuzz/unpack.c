/* The input is an archive. The reader must refuse it, or each entry that it gives out is what the writer of layers relies on. */
#include <stdlib.h>
#include <string.h>

#include "support/refusals.h"
#include "tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void refuse_archive(const char *what, const char *path) {
  check(strlen(path) > 0 || strlen(what) > 0);
  longjmp(refused, 1);
}

void refuse_archive_at(const char *what) { refuse_archive(what, ""); }

/* Names alone, each of which is one name of a folder. */
static void check_path(const char *path) {
  unsigned levels = 0;
  check(strlen(path) < PATH_MAX);
  if (path[0] == 0) return;
  for (;; path++) {
    size_t length = strcspn(path, "/");
    check(length > 0 && length <= NAME_MAX && ++levels <= TAR_LEVELS_MAX);
    check(strncmp(path, "..", length) != 0 && strncmp(path, ".", length) != 0);
    path += length;
    if (*path == 0) return;
  }
}

/* Every byte is read, so that the sanitizer sees one that is not the entry's. */
static void check_attributes(const struct tar_entry *entry) {
  volatile uint8_t sum = 0;
  check(entry->attribute_count <= TAR_ATTRIBUTES_MAX);
  for (unsigned i = 0; i < entry->attribute_count; i++) {
    check(strlen(entry->attributes[i].name) <= TAR_EXTRA_MAX && entry->attributes[i].length <= TAR_EXTRA_MAX);
    for (size_t at = 0; at < entry->attributes[i].length; at++) sum = (uint8_t)(sum + entry->attributes[i].value[at]);
  }
}

static void check_entry(const struct tar_entry *entry) {
  check_path(entry->path);
  check_attributes(entry);
  check(entry->kind == TAR_FILE || entry->size == 0);
  check(entry->mode <= 07777 && entry->mtime.tv_nsec >= 0 && entry->mtime.tv_nsec < 1000000000L);
  if (entry->kind == TAR_HARD_LINK) check_path(entry->link);
  if (entry->kind == TAR_LINK) check(entry->link[0] != 0 && strlen(entry->link) < PATH_MAX);
}

static void read_all(struct tar *tar, struct tar_entry *entry, size_t size) {
  const uint8_t *bytes;
  size_t entries = 0, content = 0, length;
  while (next_tar_entry(tar, entry)) {
    check_entry(entry);
    check(++entries <= size / TAR_BLOCK);
    /* Some content is left to the reader. */
    while (entries % 3 != 0 && (length = take_tar_content(tar, &bytes)) > 0) check((content += length) <= size && bytes[0] + bytes[length - 1] >= 0);
  }
}

/* A header's checksum is right, so that the fuzzer need not find it. One that is all zeros stays the end. */
static void set_checksums(uint8_t *bytes, size_t size) {
  for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
    unsigned sum = 8 * ' ';
    if (memcmp(bytes + at + 148, "fixed!", 6) != 0) continue;
    for (size_t i = 0; i < TAR_BLOCK; i++) sum += i >= 148 && i < 156 ? 0 : bytes[at + i];
    for (size_t i = 0; i < 6; i++) bytes[at + 153 - i] = (uint8_t)('0' + (sum >> (3 * i) & 7));
    bytes[at + 154] = 0;
    bytes[at + 155] = ' ';
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tar *tar = malloc(sizeof *tar);
  struct tar_entry *entry = malloc(sizeof *entry);
  uint8_t *bytes = malloc(size);
  check(tar != NULL && entry != NULL && (bytes != NULL || size == 0));
  if (size > 0) memcpy(bytes, data, size);
  set_checksums(bytes, size);
  open_tar(tar, -1);
  tar->input.buffer = bytes;
  tar->input.end = size;
  if (setjmp(refused) == 0) read_all(tar, entry, size);
  free(tar->extra);
  free(tar);
  free(entry);
  free(bytes);
  return 0;
}
