/* The entries of a tar archive. */
#include <stdlib.h>
#include <string.h>

#include "jail.h"
#include "tar.h"

/* What stands before an entry, and holds for it alone. */
struct before {
  struct pax pax;
  const char *name, *link; /* GNU's long ones, or NULL */
  bool is_any;
};

void open_tar(struct tar *tar, int fd) {
  memset(tar, 0, sizeof *tar);
  tar->input = (struct tar_input){.fd = fd, .buffer = fd < 0 ? NULL : malloc(TAR_BUFFER)};
  tar->extra = malloc(TAR_EXTRA_MAX + 1);
  if (tar->extra == NULL || (fd >= 0 && tar->input.buffer == NULL)) die("make room for the archive");
}

size_t take_tar_content(struct tar *tar, const uint8_t **bytes) {
  size_t most = tar->left < TAR_BUFFER ? (size_t)tar->left : TAR_BUFFER, length = tar_take(&tar->input, most, bytes);
  if (length == 0 && most > 0) refuse_archive_at("it ends in the middle of a file");
  tar->left -= length;
  return length;
}

static void begin_content(struct tar *tar, uint64_t size) {
  tar->left = size;
  tar->padding = (unsigned)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static void end_content(struct tar *tar) {
  const uint8_t *bytes;
  uint8_t padding[TAR_BLOCK];
  while (take_tar_content(tar, &bytes) > 0) continue;
  if (!tar_get(&tar->input, padding, tar->padding)) refuse_archive_at("it ends in the middle of a file");
  tar->padding = 0;
}

static bool is_zero(const uint8_t block[TAR_BLOCK]) {
  for (size_t i = 0; i < TAR_BLOCK; i++)
    if (block[i] != 0) return false;
  return true;
}

/* False: the archive is at its end, which two blocks of zeros say; some programs leave them out. */
static bool read_block(struct tar *tar, uint8_t block[TAR_BLOCK]) {
  const uint8_t *first;
  if (tar_take(&tar->input, 1, &first) == 0) return false;
  block[0] = *first;
  if (!tar_get(&tar->input, block + 1, TAR_BLOCK - 1)) refuse_archive_at("it ends in the middle of a header");
  if (!is_zero(block)) return true;
  if (tar_get(&tar->input, block, TAR_BLOCK) && !is_zero(block)) refuse_archive_at("something follows a block of zeros");
  return false;
}

/* Reads what a header is followed by that says more about the next entry. It ends with a NUL. */
static char *read_extra(struct tar *tar, uint64_t size) {
  char *extra = (char *)tar->extra + tar->extra_length;
  if (size >= TAR_EXTRA_MAX - tar->extra_length) refuse_archive_at("an entry has more than 1 MiB of headers");
  begin_content(tar, size);
  if (!tar_get(&tar->input, extra, (size_t)size)) refuse_archive_at("it ends in the middle of a header");
  tar->left = 0;
  end_content(tar);
  extra[size] = 0;
  tar->extra_length += (size_t)size + 1;
  return extra;
}

/* True: the header says more about the next entry. Each takes some of the room, so that they end. */
static bool take_extra(struct tar *tar, const struct tar_header *header, struct before *before, struct tar_entry *entry) {
  if (header->type != 'x' && header->type != 'g' && header->type != 'L' && header->type != 'K') return false;
  char *extra = read_extra(tar, header->size);
  size_t length = (size_t)header->size;
  before->is_any |= header->type != 'g';
  if (header->type == 'x') parse_pax(extra, length, &before->pax, entry);
  if (header->type == 'g') parse_global_pax(extra, length, &tar->global);
  if (header->type == 'L') before->name = extra;
  if (header->type == 'K') before->link = extra;
  return true;
}

static enum tar_kind kind_of(const struct tar_header *header, const char *name) {
  size_t length = strlen(name);
  switch (header->type) {
    case 0: return length > 0 && name[length - 1] == '/' ? TAR_FOLDER : TAR_FILE; /* older than types for folders */
    case '0':
    case '7': return TAR_FILE;
    case '1': return TAR_HARD_LINK;
    case '2': return TAR_LINK;
    case '3':
    case '4': return TAR_DEVICE;
    case '5': return TAR_FOLDER;
    case '6': return TAR_FIFO;
    case 'S': refuse_archive("it has a sparse file, which layers of images do not have: write it without --sparse", name);
    default: refuse_archive("it has an entry of an unknown type", name);
  }
}

static void set_link(struct tar_entry *entry, const char *link) {
  if (entry->kind == TAR_HARD_LINK) clean_tar_path(link, entry->link);
  if (entry->kind != TAR_LINK) return;
  size_t length = strlen(link);
  if (length == 0 || length >= PATH_MAX) refuse_archive("the text of a link is empty, or too long", entry->path);
  memcpy(entry->link, link, length + 1);
}

static void fill_entry(struct tar *tar, const struct tar_header *header, const struct before *before, struct tar_entry *entry) {
  const struct pax *pax = &before->pax, *global = &tar->global;
  const char *name = pax->path != NULL ? pax->path : before->name != NULL ? before->name : header->name;
  const char *link = pax->link != NULL ? pax->link : before->link != NULL ? before->link : header->link;
  entry->kind = kind_of(header, name);
  clean_tar_path(name, entry->path);
  set_link(entry, link);
  entry->mode = header->mode;
  entry->uid = pax->set & PAX_UID ? pax->uid : global->set & PAX_UID ? global->uid : header->uid;
  entry->gid = pax->set & PAX_GID ? pax->gid : global->set & PAX_GID ? global->gid : header->gid;
  entry->mtime = pax->set & PAX_MTIME ? pax->mtime : global->set & PAX_MTIME ? global->mtime : (struct timespec){.tv_sec = header->mtime};
  /* What is no file has no content, whatever its header says. */
  entry->size = entry->kind != TAR_FILE ? 0 : pax->set & PAX_SIZE ? pax->size : header->size;
}

bool next_tar_entry(struct tar *tar, struct tar_entry *entry) {
  uint8_t block[TAR_BLOCK];
  struct before before = {.name = NULL};
  struct tar_header header;
  end_content(tar);
  tar->extra_length = 0;
  entry->attribute_count = 0;
  entry->link[0] = 0;
  while (read_block(tar, block)) {
    parse_tar_header(block, &header);
    if (take_extra(tar, &header, &before, entry)) continue;
    fill_entry(tar, &header, &before, entry);
    begin_content(tar, entry->size);
    return true;
  }
  if (before.is_any) refuse_archive_at("it ends after a header that belongs to another one");
  return false;
}
