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

#include "io.h"
#include "jail.h"
#include "modes.h"

#define STATUS_BYTES 16384u
/* By these names programs reach their open files, and the C library's fchmodat too. In this process they would lead to its own files. */
static const char *const OWN_FILES[] = {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_by_number(const struct seccomp_data *data) { return data->nr == __NR_fchmod; }

#if defined(__NR_chmod)
static bool has_folder(const struct seccomp_data *data) { return data->nr != __NR_chmod && !is_by_number(data); }
#else
static bool has_folder(const struct seccomp_data *data) { return !is_by_number(data); }
#endif

static uint64_t path_address(const struct seccomp_data *data) { return data->args[has_folder(data) ? 1 : 0]; }
static unsigned mode_of(const struct seccomp_data *data) { return (unsigned)data->args[has_folder(data) ? 2 : 1] & 07777u & ~SETID_BITS; }

static int read_credentials(struct mode_call *call) {
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
static int read_path(struct mode_call *call) {
  char text[PATH_MAX];
  int memory = openat(call->folder, "mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return errno;
  ssize_t length = pread(memory, text, sizeof text, (off_t)path_address(call->data));
  close(memory);
  if (length <= 0) return EFAULT;
  if (memchr(text, 0, (size_t)length) == NULL) return length == (ssize_t)sizeof text ? ENAMETOOLONG : EFAULT;
  memcpy(call->path, text, strlen(text) + 1);
  return 0;
}

static int open_file(struct mode_call *call, int number) {
  char name[24];
  snprintf(name, sizeof name, "fd/%d", number);
  call->file = number < 0 ? -1 : openat(call->folder, name, O_PATH | O_CLOEXEC);
  if (call->file >= 0) return 0;
  return number < 0 || errno == ENOENT ? EBADF : errno;
}

/* Gives the path to an open file of the caller the number that the file has here. */
static int open_named_file(struct mode_call *call, const char *text) {
  char *end, rest[PATH_MAX];
  long number = strtol(text, &end, 10);
  if (end == text || number < 0 || number > INT_MAX) return 0;
  if (*end != 0 && *end != '/') return 0;
  if (open_file(call, (int)number) != 0) return ENOENT;
  snprintf(rest, sizeof rest, "%s", end);
  snprintf(call->path, sizeof call->path, "%s%d%s", OWN_FILES[0], call->file, rest);
  return 0;
}

static int open_absolute(struct mode_call *call) {
  for (size_t i = 0; i < COUNT(OWN_FILES); i++) {
    size_t length = strlen(OWN_FILES[i]);
    if (strncmp(call->path, OWN_FILES[i], length) == 0) return open_named_file(call, call->path + length);
  }
  return 0;
}

static int open_start(struct mode_call *call) {
  if (call->path[0] == '/') return open_absolute(call);
  int folder = has_folder(call->data) ? (int)call->data->args[0] : AT_FDCWD;
  return folder == AT_FDCWD ? 0 : open_file(call, folder);
}

int read_caller(int proc, const struct seccomp_notif *told, struct mode_call *call) {
  char name[16];
  *call = (struct mode_call){.data = &told->data, .file = -1};
  snprintf(name, sizeof name, "%u", told->pid);
  call->folder = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (call->folder < 0) return errno;
  call->root = openat(call->folder, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
  call->cwd = openat(call->folder, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (call->root < 0 || call->cwd < 0) return errno;
  int error = read_credentials(call);
  if (error != 0) return error;
  if (is_by_number(call->data)) return open_file(call, (int)call->data->args[0]);
  error = read_path(call);
  return error != 0 ? error : open_start(call);
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
int become_caller(const struct mode_call *call, bool single_id) {
  if (!enter_root(call->root)) return errno;
  if (fchdir(call->cwd) != 0 && call->path[0] != '/') return errno;
  if (!single_id && !take_ids(&call->credentials)) return errno;
  return take_capabilities(call->credentials.effective) ? 0 : errno;
}

/* Another name, such as a link to /proc/self/fd, may lead to this process's own files by their numbers. So it has few of them. */
static void close_own_files(const struct mode_call *call) {
  const int own[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, call->folder, call->root, call->cwd};
  for (size_t i = 0; i < COUNT(own); i++) close(own[i]);
}

/* Opens what the path names without any right to it. -1 with errno set. */
static int open_target(const struct mode_call *call, unsigned flags) {
  int folder = call->file >= 0 ? call->file : AT_FDCWD;
  bool is_empty = (flags & AT_EMPTY_PATH) != 0 && call->path[0] == 0;
  if (is_empty && call->file >= 0) return dup(call->file);
  return openat(folder, is_empty ? "." : call->path, O_PATH | O_CLOEXEC | ((flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0));
}

bool look_at_self(int proc, struct own_process *own) {
  own->files = openat(proc, "self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return own->files >= 0 && fstatat(proc, "self/exe", &own->program, 0) == 0;
}

/* /proc/self/exe leads to the program. Its owner may be the caller's user, if an ordinary user has started Belljar. */
static bool is_own_program(int target, const struct stat *program) {
  struct stat named;
  return fstat(target, &named) != 0 || (program->st_dev == named.st_dev && program->st_ino == named.st_ino);
}

static long change_by_path(const struct mode_call *call, const struct own_process *own) {
  bool has_flags = call->data->nr == NUMBER_FCHMODAT2;
  unsigned flags = has_flags ? (unsigned)call->data->args[3] : 0, unknown = flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
  /* An empty path is refused, after the kernel has judged the flags. */
  if (unknown != 0) return syscall(NUMBER_FCHMODAT2, AT_FDCWD, "", 0u, flags);
  int target = open_target(call, flags);
  if (target < 0) return -1;
  errno = EPERM;
  if (is_own_program(target, &own->program)) return -1;
  if (has_flags) return syscall(NUMBER_FCHMODAT2, target, "", mode_of(call->data), AT_EMPTY_PATH);
  char name[16];
  snprintf(name, sizeof name, "%d", target);
  return syscall(__NR_fchmodat, own->files, name, mode_of(call->data));
}

int change_mode(const struct mode_call *call, const struct own_process *own) {
  char name[16];
  close_own_files(call);
  snprintf(name, sizeof name, "%d", call->file);
  long result = is_by_number(call->data) ? syscall(__NR_fchmodat, own->files, name, mode_of(call->data)) : change_by_path(call, own);
  return result == 0 ? 0 : errno;
}
