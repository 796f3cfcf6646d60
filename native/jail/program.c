/*
 * The program that sandboxes run on. Whoever is the same user may change a process's program, by /proc/self/exe: its mode, times and
 * attributes. With the ids of an ordinary user, that is whoever makes the guest follow this name. So keepers of an ordinary user run a copy
 * in memory. Nothing else uses it, and its contents are sealed. Sandboxes of root have ids that own no file of the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"

#define PROGRAM_MODE 0500
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* The headers of Debian 12 lack these two. Linux before 6.3 does not know them. */
#define MEMORY_EXECUTABLE 0x10u
#define SEAL_EXECUTABLE 0x20

static int make_memory(void) {
  int memory = memfd_create("belljar", MFD_CLOEXEC | MFD_ALLOW_SEALING | MEMORY_EXECUTABLE);
  if (memory < 0 && errno == EINVAL) memory = memfd_create("belljar", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) die("make room for a copy of Belljar's program (the setting vm.memfd_noexec may forbid it)");
  return memory;
}

static void copy_program(int memory) {
  struct stat status;
  int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (program < 0 || fstat(program, &status) < 0) die("open Belljar's program");
  for (off_t left = status.st_size; left > 0;) {
    ssize_t copied = sendfile(memory, program, NULL, (size_t)left);
    if (copied <= 0) die("copy Belljar's program");
    left -= copied;
  }
  close(program);
}

static int open_copy(void) {
  int memory = make_memory();
  copy_program(memory);
  if (fchmod(memory, PROGRAM_MODE) < 0) die("make the copy of Belljar's program executable");
  if (fcntl(memory, F_ADD_SEALS, SEALS | SEAL_EXECUTABLE) < 0 && fcntl(memory, F_ADD_SEALS, SEALS) < 0) die("seal the copy of Belljar's program");
  /* A file that is open for writing cannot be executed. */
  char path[PROGRAM_PATH_MAX];
  snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  int program = open(path, O_RDONLY | O_CLOEXEC);
  if (program < 0) die("open the copy of Belljar's program");
  close(memory);
  return program;
}

void open_program(struct program *program) {
  program->copy = geteuid() == 0 ? -1 : open_copy();
  if (program->copy < 0) snprintf(program->path, sizeof program->path, "/proc/self/exe");
  else snprintf(program->path, sizeof program->path, "/proc/self/fd/%d", program->copy);
}

void keep_executable(const struct program *program) {
  if (program->copy >= 0) fchmod(program->copy, PROGRAM_MODE);
}
