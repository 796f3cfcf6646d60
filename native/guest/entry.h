/* One file as the protocol describes it. */
#ifndef BELLJAR_ENTRY_H
#define BELLJAR_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "frames.h"

struct work;

struct place {
  /* AT_FDCWD or an open folder. */
  int folder;
  const char *name;
  /* As the host is told it. */
  const char *shown;
};

uint8_t entry_type(mode_t mode);
/* PATH and all that is known of the file; for a link its text and, where it leads somewhere, its end. */
void put_entry(struct work *work, struct field_writer *fields, const struct place *place, const struct stat *status);
/* The absolute path of an open file; false with errno set. */
bool path_of(int fd, char *to, size_t capacity);

#endif
