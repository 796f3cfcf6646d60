/* The data of one file. For the guest's COPY, and for copies of layers. */
#ifndef BELLJAR_COPY_DATA_H
#define BELLJAR_COPY_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct data_copy {
  int from, to;
  /* Where bytes go through that the kernel does not copy by itself. */
  uint8_t *room;
  size_t room_bytes;
  /* Called after each part, or NULL. */
  void (*go_on)(void *context);
  void *context;
};

/*
 * Copies `size` bytes, and keeps the holes. The kernel copies, and shares blocks, where the file system supports that. Ends early where the
 * source does. False with errno set.
 */
bool copy_data(const struct data_copy *copy, off_t size);

#endif
