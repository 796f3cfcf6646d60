/* The record of what a keeper owns: its specification, in the folder of the sockets. `clear` reads it when the keeper was lost. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define BOOT_ID_LENGTH 36u

/* Writes the record whole or not at all. */
void write_record(const struct spec *spec, struct spec_bytes record) {
  int folder = open(spec->sockets, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int fd = folder < 0 ? -1 : openat(folder, RECORD_FILE ".new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || !write_whole(fd, record.bytes, record.length)) die("record what the keeper owns");
  if (renameat(folder, RECORD_FILE ".new", folder, RECORD_FILE) < 0) die("record what the keeper owns");
  close(fd);
  close(folder);
}

static bool read_bytes(int fd, struct spec_bytes *raw) {
  struct stat status;
  if (fstat(fd, &status) < 0 || status.st_size <= 0) return false;
  if (status.st_size > FIELDS_MAX_BYTES) refuse("the sandbox's record is too long");
  raw->length = (size_t)status.st_size;
  raw->bytes = malloc(raw->length);
  if (raw->bytes == NULL) die("read the sandbox's record");
  return read_whole(fd, raw->bytes, raw->length);
}

bool read_record(const struct spec *asked, struct spec *spec) {
  int folder = open(asked->sockets, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int fd = folder < 0 ? -1 : openat(folder, RECORD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct spec_bytes raw;
  if (folder >= 0) close(folder);
  bool is_read = fd >= 0 && read_bytes(fd, &raw);
  if (fd >= 0) close(fd);
  if (!is_read) return false;
  parse_spec(raw, spec);
  /* `clear` removes the groups and layers that the record names. They must be those of the asked run. */
  if (strcmp(spec->id, asked->id) != 0 || spec->run != asked->run) refuse("the record beside the run's sockets is another run's");
  return true;
}

bool is_this_boot(const struct spec *spec) {
  char now[BOOT_ID_LENGTH + 1] = "";
  ssize_t length = read_file("/proc/sys/kernel/random/boot_id", now, BOOT_ID_LENGTH);
  return length == BOOT_ID_LENGTH && spec->boot_id != NULL && strncmp(now, spec->boot_id, BOOT_ID_LENGTH) == 0;
}
