#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "caller.h"

#define STATUS_BYTES 16384u
/* By these names programs reach their open files, and the C library's fchmodat too. In this process they would lead to its own files. */
static const char *const OWN_FILES[] = {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int read_credentials(struct call *call) {
  char text[STATUS_BYTES];
  int fd = openat(call->folder, "status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  size_t length = 0;
  ssize_t count;
  while ((count = read(fd, text + length, sizeof text - 1 - length)) > 0) length += (size_t)count;
  close(fd);
  text[length] = 0;
  return parse_credentials(text, &call->credentials) ? 0 : EPERM;
}

/* The kernel reads page by page, so a path that ends before memory that is not there is read whole. */
static int read_path(struct call *call, uint64_t address) {
  char text[PATH_MAX];
  int memory = openat(call->folder, "mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return errno;
  ssize_t length = pread(memory, text, sizeof text, (off_t)address);
  close(memory);
  if (length <= 0) return EFAULT;
  if (memchr(text, 0, (size_t)length) == NULL) return length == (ssize_t)sizeof text ? ENAMETOOLONG : EFAULT;
  memcpy(call->path, text, strlen(text) + 1);
  return 0;
}

static int open_file(struct call *call, int number) {
  char name[24];
  snprintf(name, sizeof name, "fd/%d", number);
  call->file = number < 0 ? -1 : openat(call->folder, name, O_PATH | O_CLOEXEC);
  if (call->file >= 0) return 0;
  return number < 0 || errno == ENOENT ? EBADF : errno;
}

/* Gives the path to an open file of the caller the number that the file has here. */
static int open_named_file(struct call *call, const char *text) {
  char *end, rest[PATH_MAX];
  long number = strtol(text, &end, 10);
  if (end == text || number < 0 || number > INT_MAX) return 0;
  if (*end != 0 && *end != '/') return 0;
  if (open_file(call, (int)number) != 0) return ENOENT;
  snprintf(rest, sizeof rest, "%s", end);
  snprintf(call->path, sizeof call->path, "%s%d%s", OWN_FILES[0], call->file, rest);
  return 0;
}

static int open_absolute(struct call *call) {
  for (size_t i = 0; i < COUNT(OWN_FILES); i++) {
    size_t length = strlen(OWN_FILES[i]);
    if (strncmp(call->path, OWN_FILES[i], length) == 0) return open_named_file(call, call->path + length);
  }
  return 0;
}

static int open_start(struct call *call, int folder) {
  if (call->path[0] == '/') return open_absolute(call);
  return folder == AT_FDCWD ? 0 : open_file(call, folder);
}

int read_caller(int proc, const struct seccomp_notif *told, struct place place, struct call *call) {
  char name[16];
  *call = (struct call){.data = &told->data, .folder = -1, .root = -1, .cwd = -1, .file = -1};
  int folder = place.folder == NO_ARGUMENT ? AT_FDCWD : (int)told->data.args[place.folder];
  snprintf(name, sizeof name, "%u", told->pid);
  call->folder = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (call->folder < 0) return errno;
  call->root = openat(call->folder, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
  call->cwd = openat(call->folder, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (call->root < 0 || call->cwd < 0) return errno;
  int error = read_credentials(call);
  if (error != 0) return error;
  if (place.path == NO_ARGUMENT) return open_file(call, folder);
  error = read_path(call, told->data.args[place.path]);
  return error != 0 ? error : open_start(call, folder);
}

void close_caller(struct call *call) {
  int *const fds[] = {&call->folder, &call->root, &call->cwd, &call->file};
  for (size_t i = 0; i < COUNT(fds); i++) {
    if (*fds[i] >= 0) close(*fds[i]);
    *fds[i] = -1;
  }
}

static bool enter_root(int root) {
  struct stat theirs, ours;
  if (fstat(root, &theirs) != 0 || stat("/", &ours) != 0) return false;
  if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) return true;
  return fchdir(root) == 0 && chroot(".") == 0;
}

/* The effective ids stay: a program with the caller's ids may not end this process. */
static bool take_ids(const struct credentials *credentials) {
  if (setgroups(credentials->group_count, credentials->groups) != 0) return false;
  setfsgid(credentials->gid);
  setfsuid(credentials->uid);
  errno = EPERM;
  return (uint32_t)setfsgid(UINT32_MAX) == credentials->gid && (uint32_t)setfsuid(UINT32_MAX) == credentials->uid;
}

/* With one id, programs have the ids of this process, and none of them can change its groups. */
int become_caller(const struct call *call, bool single_id) {
  if (!enter_root(call->root)) return errno;
  if (fchdir(call->cwd) != 0 && call->path[0] != '/') return errno;
  if (!single_id && !take_ids(&call->credentials)) return errno;
  return take_capabilities(call->credentials.effective) ? 0 : errno;
}
