/* The bytes of an archive. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "jail.h"
#include "tar.h"

static bool fill(struct tar_input *input) {
  ssize_t length;
  if (input->at < input->end) return true;
  if (input->fd < 0) return false;
  do length = read(input->fd, input->buffer, TAR_BUFFER);
  while (length < 0 && errno == EINTR);
  if (length < 0) die("read the archive");
  input->at = 0;
  input->end = (size_t)length;
  return length > 0;
}

size_t tar_take(struct tar_input *input, size_t most, const uint8_t **bytes) {
  if (most == 0 || !fill(input)) return 0;
  size_t there = input->end - input->at, length = there < most ? there : most;
  *bytes = input->buffer + input->at;
  input->at += length;
  return length;
}

bool tar_get(struct tar_input *input, void *to, size_t length) {
  size_t done = 0;
  while (done < length) {
    const uint8_t *bytes = NULL;
    size_t part = tar_take(input, length - done, &bytes);
    if (part == 0) return false;
    memcpy((uint8_t *)to + done, bytes, part);
    done += part;
  }
  return true;
}
