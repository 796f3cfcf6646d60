/*
 * The input is the /etc/hosts of a sandbox, which its root may have written before. The first byte chooses the host name. The rest is taken
 * as often as the second byte says, so that files are longer than what is read too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prepare.h"
#include "support/refusals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long open_hosts(void);

/* Includes the file; what it opens lies in memory. */
#define syscall(number, folder, path, how, ...) ((void)(how), open_hosts())
#include "../jail/hosts.c"
#undef syscall

/* Twice what is read of a file, with a name's line. */
#define TEXT_BYTES (2 * HOSTS_BYTES + 512)

static int hosts;
static char before[TEXT_BYTES], after[TEXT_BYTES];

/* list_host_name closes what it gets. */
static long open_hosts(void) { return fcntl(hosts, F_DUPFD_CLOEXEC, 0); }

static size_t read_hosts(char *to) {
  ssize_t length = pread(hosts, to, TEXT_BYTES, 0);
  check(length >= 0);
  return (size_t)length;
}

static size_t write_hosts(const uint8_t *data, size_t size, size_t times) {
  check(ftruncate(hosts, 0) == 0);
  for (size_t i = 0; i < times && (i + 1) * size < 2 * HOSTS_BYTES; i++) check(write(hosts, data, size) == (ssize_t)size);
  return read_hosts(before);
}

static size_t line_bytes(size_t from, size_t old) {
  const char *end = memchr(before + from, '\n', old - from);
  return end == NULL ? old - from : (size_t)(end - (before + from)) + 1;
}

/* Belljar writes whole lines: one without its line break is somebody else's. */
static bool ends_as_own(const char *line, size_t length) {
  static const char END[] = " # this sandbox\n";
  return length >= strlen(END) && memcmp(line + length - strlen(END), END, strlen(END)) == 0;
}

/* All lines that are not Belljar's are there as they were, and then the sandbox's own one. Of a file that is too long all lines are. */
static void check_lines(size_t old, size_t length, const char *line) {
  size_t at = 0;
  for (size_t from = 0, bytes; from < old; from += bytes) {
    bytes = line_bytes(from, old);
    if (old <= HOSTS_BYTES && ends_as_own(before + from, bytes)) continue;
    check(at + bytes <= length && memcmp(after + at, before + from, bytes) == 0);
    at += bytes;
  }
  if (at > 0 && after[at - 1] != '\n') check(after[at++] == '\n');
  check(length - at == strlen(line) && memcmp(after + at, line, length - at) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char *const NAMES[] = {"box", "a", "127.0.0.1", "host.test"};
  char line[128];
  if (size < 3) return 0;
  if (hosts == 0) hosts = open("/dev/shm", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
  check(hosts > 0);
  struct spec spec = {.hostname = NAMES[data[0] % 4]};
  check(snprintf(line, sizeof line, "127.0.0.1 %s # this sandbox\n", spec.hostname) < (int)sizeof line);
  for (int run = 0; run < 2; run++) {
    size_t old = run == 0 ? write_hosts(&data[2], size - 2, data[1] < 128 ? 1 : (size_t)data[1] * 4) : read_hosts(before);
    if (setjmp(refused) != 0) abort();
    list_host_name(&spec);
    check_lines(old, read_hosts(after), line);
  }
  return 0;
}
