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
  /* The name that the host is told. */
  const char *shown;
};

uint8_t entry_type(mode_t mode);
/*
 * Writes PATH and the attributes of the file. A link also gets its text as TARGET and, if it leads to a file, that path as RESOLVED with its
 * type and mode. What is no link gets the extended attributes that the request asks for by its NAME.
 */
void put_entry(struct work *work, struct field_writer *fields, const struct place *place, const struct stat *status);
/* The absolute path of an open file. False with errno set. */
bool path_of(int fd, char *to, size_t capacity);

#endif
