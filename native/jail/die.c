/* How the jail fails: one line that names the step, to whoever waits for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

static struct {
  int fd;
  void (*at_failure)(void);
} report = {.fd = -1};

void set_failure_report(int fd, void (*at_failure)(void)) {
  report.fd = fd;
  report.at_failure = at_failure;
}

static _Noreturn void fail(uint16_t code, int error, const char *text) {
  char line[ERROR_TEXT_BYTES];
  snprintf(line, sizeof line, "jail: %s%s%s", text, error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
  void (*at_failure)(void) = report.at_failure;
  report.at_failure = NULL; /* a failure while cleaning up ends it */
  if (at_failure != NULL) at_failure();
  if (report.fd >= 0) reply_error(report.fd, code, error, line);
  else dprintf(STDERR_FILENO, "%s\n", line);
  _exit(EXIT_FAILURE);
}

void die(const char *step) { fail(GUEST_ERROR_IO, errno, step); }
void die_with(int error, const char *step) { fail(GUEST_ERROR_IO, error, step); }
void refuse(const char *what) { fail(GUEST_ERROR_BAD_REQUEST, 0, what); }
