/* Whether two files hold the same bytes. Holes of both are skipped: a sparse file costs as much as what lies in it. */
#include <errno.h>
#include <unistd.h>

#include <string.h>

#include "compare.h"

#define CHUNK (128u * 1024)

/* Where the next data lies, or the size. */
static uint64_t next_data(int fd, uint64_t from, uint64_t size) {
  off_t at = lseek(fd, (off_t)from, SEEK_DATA);
  if (at >= 0) return (uint64_t)at < size ? (uint64_t)at : size;
  return errno == ENXIO ? size : from;
}

/* Fewer bytes than asked: the file ends there. */
static size_t read_at(int fd, uint8_t *to, size_t length, uint64_t from) {
  size_t filled = 0;
  while (filled < length) {
    ssize_t count = pread(fd, to + filled, length - filled, (off_t)(from + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) die("read a file of a layer");
    if (count == 0) break;
    filled += (size_t)count;
  }
  return filled;
}

bool is_same_content(int one, int other, uint64_t size) {
  static uint8_t left[CHUNK], right[CHUNK];
  for (uint64_t at = 0; at < size;) {
    uint64_t first = next_data(one, at, size), second = next_data(other, at, size);
    at = first < second ? first : second;
    size_t length = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
    if (read_at(one, left, length, at) != length || read_at(other, right, length, at) != length || memcmp(left, right, length) != 0) return false;
    at += length;
  }
  return true;
}
