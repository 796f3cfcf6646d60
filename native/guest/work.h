/* Work on files and processes: each request in a child of its own, with its user's ids, on plain blocking I/O. */
#ifndef BELLJAR_WORK_H
#define BELLJAR_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io.h"
#include "request.h"
#include "users.h"

struct connection;

struct work {
  int fd;
  const struct request *request;
  const struct guest_options *options;
  int64_t started_us;
  /* When long work last said that it goes on. */
  int64_t heard_us;
  struct user user;
  struct name_cache names;
  /* Frames on their way out: many small ones leave in one write. */
  uint8_t out[2u * (FRAME_HEADER_BYTES + PAYLOAD_MAX_BYTES)];
  size_t out_length;
  uint8_t payload[PAYLOAD_MAX_BYTES];
};

/* Forks the child that serves the request; the loop gives the stream away to it. */
void work_start(struct connection *connection, const struct request *request);

/* One frame with the fields that were written to work->payload. Ends the child when the host has gone. */
void work_send(struct work *work, uint8_t frame, const struct field_writer *fields);
void work_flush(struct work *work);
struct field_writer work_fields(struct work *work);
/* Ends the child when the host has gone. */
void work_check_host(const struct work *work);
/* The same for the steps of work that answers once, at its end: says each second that it goes on. */
void work_go_on(struct work *work);

/* The last frame; none returns. */
_Noreturn void work_done(struct work *work, const struct field_writer *fields);
_Noreturn void work_refuse(struct work *work, uint16_t code, const char *text);
/* Says "step path: reason", from errno. */
_Noreturn void work_fail(struct work *work, const char *step, const char *path);

#endif
