/* What is left when a sandbox has ended, and its removal: by its keeper, or by `clear` when the keeper was lost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define END_FILE "end.json"
#define LOCK_FILE "lock"

/* One line of JSON, whole or not at all. An end that is already written stands. */
void write_end(int folder, const char *reason) {
  char text[128];
  struct timespec now;
  if (faccessat(folder, END_FILE, F_OK, 0) == 0) return;
  clock_gettime(CLOCK_REALTIME, &now);
  int length = snprintf(text, sizeof text, "{\"reason\":\"%s\",\"at\":%" PRId64 "}\n", reason, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
  int fd = openat(folder, END_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  bool written = write_whole(fd, text, (size_t)length);
  close(fd);
  if (written) renameat(folder, END_FILE ".new", folder, END_FILE);
}

static void remove_sockets(const struct spec *spec) {
  int folder = open(spec->sockets, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  unlinkat(folder, GUEST_SOCKET, 0);
  unlinkat(folder, KEEPER_SOCKET, 0);
  close(folder);
  rmdir(spec->sockets);
}

void clean_kernel_objects(const struct spec *spec) {
  remove_sockets(spec);
  remove_cgroups(spec);
}

/* Files of a sub-id map belong to ids that only a namespace with the same map may touch. */
static _Noreturn void remove_in_namespace(const struct spec *spec, int ready, int mapped) {
  char byte = 0;
  if (unshare(CLONE_NEWUSER) < 0 || !write_whole(ready, &byte, 1) || !read_whole(mapped, &byte, 1)) _exit(EXIT_FAILURE);
  if (setresuid(0, 0, 0) < 0) _exit(EXIT_FAILURE);
  _exit(remove_layers(spec) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static bool remove_layers_as_owner(const struct spec *spec) {
  int pair[2], status;
  char byte = 0;
  if (spec->id_map != ID_MAP_SUBIDS) return remove_layers(spec);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) return false;
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) remove_in_namespace(spec, pair[1], pair[1]);
  close(pair[1]);
  if (read_whole(pair[0], &byte, 1)) {
    write_id_maps(spec, child, 0);
    write_whole(pair[0], &byte, 1);
  }
  close(pair[0]);
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool remove_writable_layers(const struct spec *spec) { return remove_layers_as_owner(spec); }

int open_lock(int folder, bool *taken) {
  int fd = openat(folder, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) die("open the sandbox's lock");
  *taken = flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (!*taken && errno != EWOULDBLOCK) die("take the sandbox's lock");
  return fd;
}

/* The record of what a keeper owns: the specification itself, in the file whose lock it holds. */
static bool read_record(int lock, struct spec *spec) {
  struct stat status;
  if (fstat(lock, &status) < 0) die("look at the sandbox's lock");
  if (status.st_size == 0 || status.st_size > FIELDS_MAX_BYTES) return false;
  struct spec_bytes raw = {.bytes = malloc((size_t)status.st_size), .length = (size_t)status.st_size};
  if (raw.bytes == NULL || pread(lock, raw.bytes, raw.length, 0) != (ssize_t)raw.length) die("read the sandbox's record");
  parse_spec(raw, spec);
  return true;
}

static bool is_this_boot(const struct spec *spec) {
  char now[40] = "";
  ssize_t length = read_file("/proc/sys/kernel/random/boot_id", now, sizeof now - 1);
  return length >= 36 && spec->boot_id != NULL && strncmp(now, spec->boot_id, 36) == 0;
}

/*
 * Clears a folder whose keeper is gone and says why it ended. Exit codes: 0 cleared, EXIT_ALIVE its keeper lives, 1 failed.
 * The lock is held until the end, so that of several processes one clears.
 */
int clear_main(const char *path) {
  static struct spec spec;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) die("open the sandbox's folder");
  bool taken;
  int lock = open_lock(folder, &taken);
  if (!taken) return EXIT_ALIVE;
  if (!read_record(lock, &spec)) {
    write_end(folder, "create_failed");
    return EXIT_SUCCESS;
  }
  clean_kernel_objects(&spec);
  write_end(folder, is_this_boot(&spec) ? "keeper_lost" : "host_lost");
  return remove_writable_layers(&spec) ? EXIT_SUCCESS : EXIT_FAILURE;
}
