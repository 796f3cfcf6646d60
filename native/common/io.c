#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

bool read_whole(int fd, void *to, size_t length) {
  uint8_t *bytes = to;
  for (size_t done = 0; done < length;) {
    ssize_t count = read(fd, &bytes[done], length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) {
      errno = 0;
      return false;
    }
    done += (size_t)count;
  }
  return true;
}

static ssize_t write_some(int fd, const void *from, size_t length) {
  ssize_t count = send(fd, from, length, MSG_NOSIGNAL);
  return count < 0 && errno == ENOTSOCK ? write(fd, from, length) : count;
}

bool write_whole(int fd, const void *from, size_t length) {
  const uint8_t *bytes = from;
  for (size_t done = 0; done < length;) {
    ssize_t count = write_some(fd, &bytes[done], length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += (size_t)count;
  }
  return true;
}

ssize_t read_file(const char *path, char *to, size_t capacity) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -1;
  size_t done = 0;
  ssize_t count = 1;
  while (count > 0 && done < capacity) {
    count = read(fd, &to[done], capacity - done);
    if (count < 0 && errno == EINTR) count = 1;
    else if (count > 0) done += (size_t)count;
  }
  int error = errno;
  close(fd);
  errno = error;
  return count < 0 ? -1 : (ssize_t)done;
}

bool send_frame(int fd, struct frame_header header, const void *payload) {
  uint8_t bytes[FRAME_HEADER_BYTES];
  write_frame_header(bytes, header);
  return write_whole(fd, bytes, sizeof bytes) && (header.length == 0 || write_whole(fd, payload, header.length));
}

bool reply_fields(int fd, uint8_t frame, const struct field_writer *fields) {
  if (fields->overflow || fields->length > PAYLOAD_MAX_BYTES) {
    errno = EMSGSIZE;
    return false;
  }
  return send_frame(fd, (struct frame_header){frame, 0, (uint32_t)fields->length}, fields->bytes);
}

bool reply_empty(int fd) { return send_frame(fd, (struct frame_header){FRAME_REPLY, 0, 0}, NULL); }

size_t write_error_frame(uint8_t *to, size_t capacity, uint16_t code, int error, const char *text) {
  size_t length = strnlen(text, ERROR_TEXT_BYTES - 1);
  if (capacity < FRAME_HEADER_BYTES + 4 + length) return 0;
  write_frame_header(to, (struct frame_header){FRAME_ERROR, 0, (uint32_t)(4 + length)});
  put_u16(&to[FRAME_HEADER_BYTES], code);
  put_u16(&to[FRAME_HEADER_BYTES + 2], (uint16_t)error);
  memcpy(&to[FRAME_HEADER_BYTES + 4], text, length);
  return FRAME_HEADER_BYTES + 4 + length;
}

bool reply_error(int fd, uint16_t code, int error, const char *text) {
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  size_t length = write_error_frame(frame, sizeof frame, code, error, text);
  return write_whole(fd, frame, length);
}
