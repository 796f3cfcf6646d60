/* How the jail fails: it sends one line that names the step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

static struct {
  int fd;
  const struct spec *run; /* NULL until it is known */
  void (*at_failure)(void);
} report = {.fd = -1};

void set_failure_report(int fd, const struct spec *run, void (*at_failure)(void)) {
  report.fd = fd;
  report.run = run;
  report.at_failure = at_failure;
}

void put_run(struct field_writer *fields, const struct spec *spec) {
  put_text(fields, TAG_ID, spec->id);
  put_number(fields, TAG_RUN, spec->run);
}

/* Several keepers answer on one stream. A small write is not mixed with another, so a frame goes out in one. */
static void send_report(uint16_t code, const char *line) {
  uint8_t bytes[FRAME_HEADER_BYTES + 2 * ERROR_TEXT_BYTES];
  struct field_writer fields;
  field_writer_init(&fields, bytes + FRAME_HEADER_BYTES, sizeof bytes - FRAME_HEADER_BYTES);
  if (report.run != NULL) put_run(&fields, report.run);
  put_number(&fields, TAG_KIND, code);
  put_text(&fields, TAG_REASON, line);
  write_frame_header(bytes, (struct frame_header){.type = FRAME_EVENT, .length = (uint32_t)fields.length});
  write_whole(report.fd, bytes, FRAME_HEADER_BYTES + fields.length);
}

static _Noreturn void fail(uint16_t code, int error, const char *text) {
  char line[ERROR_TEXT_BYTES];
  snprintf(line, sizeof line, "jail: %s%s%s", text, error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
  void (*at_failure)(void) = report.at_failure;
  report.at_failure = NULL; /* a failure of the clean-up must not start it again */
  if (at_failure != NULL) at_failure();
  if (report.fd >= 0) send_report(code, line);
  else dprintf(STDERR_FILENO, "%s\n", line);
  _exit(EXIT_FAILURE);
}

void die(const char *step) { fail(GUEST_ERROR_IO, errno, step); }
void die_with(int error, const char *step) { fail(GUEST_ERROR_IO, error, step); }
void refuse(const char *what) { fail(GUEST_ERROR_BAD_REQUEST, 0, what); }
void report_lost(const char *what) { fail(GUEST_ERROR_NOT_FOUND, 0, what); }

void die_at(const char *action, const char *target) {
  int error = errno;
  char step[256];
  snprintf(step, sizeof step, "%s %.200s", action, target);
  die_with(error, step);
}
