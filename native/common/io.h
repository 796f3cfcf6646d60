/* Whole reads and writes on blocking descriptors, and the frames that end an operation. */
#ifndef BELLJAR_IO_H
#define BELLJAR_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frames.h"

/* The longest error text, with its NUL. A longer text is cut. */
#define ERROR_TEXT_BYTES 512u

/* Reads exactly `length` bytes. False with errno 0 when the stream ends early; false with errno set on an error. */
bool read_whole(int fd, void *to, size_t length);
/* Writes all bytes. A closed socket raises no SIGPIPE. False with errno set. */
bool write_whole(int fd, const void *from, size_t length);
/* Reads at most `capacity` bytes of a small file. -1 with errno set. */
ssize_t read_file(const char *path, char *to, size_t capacity);

bool send_frame(int fd, struct frame_header header, const void *payload);
bool reply_fields(int fd, uint8_t frame, const struct field_writer *fields);
bool reply_empty(int fd);
/* Sends an ERROR frame. `code` is a guest_error. `error` is an errno or 0. `text` says what happened and what to do next. */
bool reply_error(int fd, uint16_t code, int error, const char *text);
/* Writes the same frame into `to`, for callers that may not block. Returns its length. */
size_t write_error_frame(uint8_t *to, size_t capacity, uint16_t code, int error, const char *text);

#endif
