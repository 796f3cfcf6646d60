/*
 * Reads a tar archive that a stranger wrote, entry by entry: ustar, pax, and GNU's long names and large numbers. What the reader gives out is
 * bounded and clean. Links in the archive are not looked at here.
 */
#ifndef BELLJAR_TAR_H
#define BELLJAR_TAR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TAR_BLOCK 512u
#define TAR_BUFFER (256u << 10)
/* Of pax records and long names before one entry. */
#define TAR_EXTRA_MAX (1u << 20)
#define TAR_ATTRIBUTES_MAX 64u
/* A copy of layers (copy-layer.c) goes no deeper. */
#define TAR_LEVELS_MAX 1000u

enum tar_kind { TAR_FILE, TAR_HARD_LINK, TAR_LINK, TAR_DEVICE, TAR_FOLDER, TAR_FIFO };

/* An extended attribute. Both lie with the reader until the next entry. */
struct tar_attribute {
  const char *name;
  const uint8_t *value;
  size_t length;
};

struct tar_entry {
  enum tar_kind kind;
  char path[PATH_MAX]; /* names alone, with a slash between them; empty: the root */
  char link[PATH_MAX]; /* of a link its text; of a hard link the path of another entry, as `path` */
  unsigned mode;       /* 07777 at most */
  uint64_t uid, gid;
  uint64_t size; /* of a file: the bytes that follow */
  struct timespec mtime;
  struct tar_attribute attributes[TAR_ATTRIBUTES_MAX];
  unsigned attribute_count;
};

/* With `fd` -1 the input is what the buffer has. */
struct tar_input {
  int fd;
  uint8_t *buffer;
  size_t at, end;
};

/* What pax records say. A bit of `set` for each number. */
enum pax_number { PAX_SIZE = 1, PAX_UID = 2, PAX_GID = 4, PAX_MTIME = 8 };
struct pax {
  unsigned set;
  uint64_t size, uid, gid;
  struct timespec mtime;
  const char *path, *link; /* NULL: they say nothing */
};

struct tar {
  struct tar_input input;
  uint64_t left;    /* of the present entry's content */
  unsigned padding; /* behind it */
  struct pax global;
  uint8_t *extra;   /* TAR_EXTRA_MAX and one more byte */
  size_t extra_length;
};

/* Ends the process. `path` is shown without what terminals obey. */
_Noreturn void refuse_archive(const char *what, const char *path);
_Noreturn void refuse_archive_at(const char *what);

/* tar-input.c */
/* Up to `most` bytes, which stay until the next call. 0: the archive has no more. */
size_t tar_take(struct tar_input *input, size_t most, const uint8_t **bytes);
/* False: the archive ends before. */
bool tar_get(struct tar_input *input, void *to, size_t length);

/* tar-header.c: one block. */
struct tar_header {
  char type;
  char name[257], link[101];
  unsigned mode;
  uint64_t uid, gid, size;
  int64_t mtime;
};
void parse_tar_header(const uint8_t block[TAR_BLOCK], struct tar_header *header);

/* tar-pax.c */
/* The records are changed: each value gets a NUL at its end. */
void parse_pax(char *records, size_t length, struct pax *pax, struct tar_entry *entry);
/* Of records that hold for all later entries. */
void parse_global_pax(char *records, size_t length, struct pax *pax);

/* tar-path.c */
void clean_tar_path(const char *raw, char clean[PATH_MAX]);

/* tar-read.c */
void open_tar(struct tar *tar, int fd);
/* Goes to the next entry, over what is left of the last one. False: that was the last. */
bool next_tar_entry(struct tar *tar, struct tar_entry *entry);
/* A part of the content. 0: that was all. */
size_t take_tar_content(struct tar *tar, const uint8_t **bytes);

#endif
