/* Work on files and processes. Each request is served by a child with the user's ids and blocking I/O. */
#ifndef BELLJAR_WORK_H
#define BELLJAR_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "io.h"
#include "request.h"
#include "users.h"

struct work {
  int fd;
  const struct request *request;
  const struct guest_options *options;
  int64_t started_us;
  /* When the child last sent that its work goes on. */
  int64_t heard_us;
  struct user user;
  struct name_cache names;
  /* Frames that are not sent yet. Many small frames go out in one write. */
  uint8_t out[2u * (FRAME_HEADER_BYTES + PAYLOAD_MAX_BYTES)];
  size_t out_length;
  uint8_t payload[PAYLOAD_MAX_BYTES];
};

/* Sends a frame with the fields in work->payload. Ends the child if the host has gone. */
void work_send(struct work *work, uint8_t frame, const struct field_writer *fields);
void work_flush(struct work *work);
struct field_writer work_fields(struct work *work);
/* Ends the child if the host has gone. */
void work_check_host(const struct work *work);
/* The same for long work that answers only at its end. Sends an EVENT once a second to show that the work goes on. */
void work_go_on(struct work *work);

/* The mode as a file call may set it: without the setuid and setgid bits where the sandbox may make no such file. */
mode_t work_mode(const struct work *work, mode_t mode);

/* Each sends the last frame and ends the child. */
_Noreturn void work_done(struct work *work, const struct field_writer *fields);
_Noreturn void work_refuse(struct work *work, uint16_t code, const char *text);
/* The text is "STEP PATH: REASON"; the reason comes from errno. */
_Noreturn void work_fail(struct work *work, const char *step, const char *path);

/* The operations of a worker. None returns. */
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
