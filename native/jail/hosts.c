/* The sandbox's own host name in its /etc/hosts. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "prepare.h"

/* A longer file only gets its line: nobody reads more of it. */
#define HOSTS_BYTES 65536
/* Says that a line is Belljar's. */
#define OWN_END " # this sandbox\n"

static bool is_own(const char *line, size_t length) {
  size_t end = strlen(OWN_END);
  return length >= end && memcmp(line + length - end, OWN_END, end) == 0;
}

/* Moves the lines that stay to the beginning. Returns their length. */
static size_t leave_out_own(char *text, size_t length) {
  size_t kept = 0;
  for (size_t at = 0; at < length;) {
    const char *end = memchr(text + at, '\n', length - at);
    size_t line = end == NULL ? length - at : (size_t)(end - (text + at)) + 1;
    if (!is_own(text + at, line)) {
      memmove(text + kept, text + at, line);
      kept += line;
    }
    at += line;
  }
  return kept;
}

/* What the sandbox began with may have the line of another one, which is gone. */
static void remove_earlier(int hosts, off_t size) {
  char text[HOSTS_BYTES];
  if (size > HOSTS_BYTES) return;
  ssize_t length = pread(hosts, text, sizeof text, 0);
  if (length < 0) die("read /etc/hosts");
  size_t kept = leave_out_own(text, (size_t)length);
  if (kept == (size_t)length) return;
  if (ftruncate(hosts, 0) < 0 || !write_whole(hosts, text, kept)) die("write /etc/hosts");
}

static void add_line(int hosts, const char *name) {
  struct stat status;
  char last = '\n';
  if (fstat(hosts, &status) < 0 || (status.st_size > 0 && pread(hosts, &last, 1, status.st_size - 1) < 0)) die("read /etc/hosts");
  if (dprintf(hosts, "%s127.0.0.1 %s" OWN_END, last == '\n' ? "" : "\n", name) < 0) die("list the host name in /etc/hosts");
}

void list_host_name(const struct spec *spec) {
  if (spec->has_layers) return;
  struct open_how how = {.flags = O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
  struct stat status;
  int hosts = (int)syscall(SYS_openat2, AT_FDCWD, "/etc/hosts", &how, sizeof how);
  if (hosts < 0) return;
  if (fstat(hosts, &status) < 0) die("look at /etc/hosts");
  if (S_ISREG(status.st_mode)) {
    remove_earlier(hosts, status.st_size);
    add_line(hosts, spec->hostname);
  }
  close(hosts);
}
