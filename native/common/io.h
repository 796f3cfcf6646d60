/* Whole reads and writes on blocking descriptors, and the last frames of an operation. */
#ifndef BELLJAR_IO_H
#define BELLJAR_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frames.h"

/* Room of an error text, its NUL included; longer texts are cut. */
#define ERROR_TEXT_BYTES 512u

/* Reads exactly `length` bytes; false at the end of the stream (errno 0) or on an error (errno set). */
bool read_whole(int fd, void *to, size_t length);
/* Writes all of it, to a socket without SIGPIPE; false with errno set. */
bool write_whole(int fd, const void *from, size_t length);
/* At most `capacity` bytes of a small file; -1 with errno set. */
ssize_t read_file(const char *path, char *to, size_t capacity);

bool send_frame(int fd, struct frame_header header, const void *payload);
bool reply_fields(int fd, uint8_t frame, const struct field_writer *fields);
bool reply_empty(int fd);
/* An ERROR frame: `code` is a guest_error, `error` an errno or 0, `text` says what happened and what to do. */
bool reply_error(int fd, uint16_t code, int error, const char *text);
/* The same frame as bytes, for those who may not block; returns its length. */
size_t write_error_frame(uint8_t *to, size_t capacity, uint16_t code, int error, const char *text);

#endif
