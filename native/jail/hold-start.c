/* Starts the holder: a process of its own, which belongs to no keeper. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hold.h"
#include "io.h"

#define BACKLOG 4096
/* Each takes two seconds. */
#define LOCK_TRIES 10
/* Below it lie the descriptors that the holder starts with. */
#define FIRST_FREE_FD 16

/* Whoever has the lock may start a holder. Nobody else has this descriptor, so the lock ends with this process. */
static int lock_folder(const char *socket_path) {
  char path[HOLDER_PATH_MAX];
  memcpy(path, socket_path, sizeof path);
  int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) die("open the folder of the sockets");
  for (int tries = 0; tries < LOCK_TRIES; tries++)
    if (take_lock_soon(folder)) return folder;
  refuse("another process holds the lock of the folder of the sockets, and starts no holder");
}

/* A socket that is there is a dead holder's. */
static int listen_for_holder(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, sizeof address.sun_path);
  if (unlink(path) < 0 && errno != ENOENT) die("remove the socket of a lost holder");
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, BACKLOG) < 0) die("listen for the holder");
  return listener;
}

static void place_fd(int high, int target) {
  if (high < 0 || dup2(high, target) < 0) _exit(EXIT_FAILURE);
}

/* Its program is executed anew, so it has no address in common with a sandbox. */
static _Noreturn void exec_holder(char *path, int listener, int folder, int report) {
  char *argv[] = {(char *)(uintptr_t) "belljar-holder", (char *)(uintptr_t) "holder", path, NULL};
  char *environment[] = {NULL};
  int high[] = {fcntl(listener, F_DUPFD_CLOEXEC, FIRST_FREE_FD), fcntl(folder, F_DUPFD_CLOEXEC, FIRST_FREE_FD), fcntl(report, F_DUPFD_CLOEXEC, FIRST_FREE_FD)};
  place_fd(high[0], HOLDER_LISTENER_FD);
  place_fd(high[1], HOLDER_FOLDER_FD);
  place_fd(high[2], STDERR_FILENO);
  execve("/proc/self/exe", argv, environment);
  _exit(EXIT_FAILURE);
}

/* Its text, if it fails, is the one line that it writes. */
static _Noreturn void refuse_start(const char *path, const char *text) {
  unlink(path);
  refuse(text[0] == 0 ? "the holder of layers in memory ended, or did not answer, while it started" : text);
}

/* Reads until the holder is ready, or has failed and written why. */
static void await_ready(const char *path, int report, size_t length, char text[ERROR_TEXT_BYTES]) {
  ssize_t count;
  while (length < ERROR_TEXT_BYTES - 1 && (count = read(report, text + length, ERROR_TEXT_BYTES - 1 - length)) != 0) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) length += (size_t)count;
    if (length > 0 && text[0] == HOLDER_IS_READY) return;
  }
  text[length > 0 && text[length - 1] == '\n' ? length - 1 : length] = 0;
  refuse_start(path, text);
}

/* The ids are mapped by a process of the namespace above, which this one is. */
static void map_holder(const struct spec *spec, const char *path, int report) {
  char text[ERROR_TEXT_BYTES] = "";
  pid_t pid;
  char byte = 0;
  if (!read_whole(report, text, 1)) refuse_start(path, "");
  if (text[0] != HOLDER_HAS_NAMESPACES) await_ready(path, report, 1, text);
  if (!read_whole(report, &pid, sizeof pid)) refuse_start(path, "");
  if (spec->id_map != ID_MAP_SLOT) write_id_maps(spec, pid, 0);
  text[0] = 0;
  if (!write_whole(report, &byte, 1)) refuse_start(path, "");
  await_ready(path, report, 0, text);
}

int start_holder(const struct spec *spec) {
  char path[HOLDER_PATH_MAX];
  int report[2] = {-1, -1};
  holder_path(spec, path);
  int folder = lock_folder(path);
  int connection = connect_holder(spec);
  if (connection < 0 && errno != ENOENT && errno != ECONNREFUSED) die("reach the holder of layers in memory");
  if (connection < 0) {
    int listener = listen_for_holder(path);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report) < 0) die("make the channel to the holder");
    pid_t starter = fork();
    if (starter < 0) die("start the holder");
    if (starter == 0) exec_holder(path, listener, openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), report[1]);
    close(report[1]);
    close(listener);
    if (!limit_waits(report[0], HOLDER_PATIENCE_S)) die("limit the wait for the holder");
    map_holder(spec, path, report[0]);
    while (waitpid(starter, NULL, 0) < 0 && errno == EINTR) continue;
    connection = connect_holder(spec);
  }
  int error = errno;
  if (report[0] >= 0) close(report[0]); /* until now it has kept a holder that nobody uses */
  close(folder);
  errno = error;
  if (connection < 0) die("reach the holder that was started");
  return connection;
}
