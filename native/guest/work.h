/* Work on files and processes: each request in a child of its own, with its user's ids, on plain blocking I/O. */
#ifndef BELLJAR_WORK_H
#define BELLJAR_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io.h"
#include "request.h"
#include "users.h"

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

/* What a worker can do: each serves its request to the end and does not return. */
void serve_stat(struct work *work);
void serve_list(struct work *work);
void serve_read(struct work *work);
void serve_write(struct work *work);
void serve_make_directory(struct work *work);
void serve_rename(struct work *work);
void serve_remove(struct work *work);
void serve_copy(struct work *work);
void serve_symlink(struct work *work);
void serve_set_attributes(struct work *work);
void serve_get_xattr(struct work *work);
void serve_set_xattr(struct work *work);
void serve_list_xattrs(struct work *work);
void serve_remove_xattr(struct work *work);
void serve_watch(struct work *work);
void serve_processes(struct work *work);
void serve_signal_process(struct work *work);
void serve_usage(struct work *work);

#endif
