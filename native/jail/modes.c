#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_by_number(const struct seccomp_data *data) { return data->nr == __NR_fchmod; }

#if defined(__NR_chmod)
static bool has_folder(const struct seccomp_data *data) { return data->nr != __NR_chmod && !is_by_number(data); }
#else
static bool has_folder(const struct seccomp_data *data) { return !is_by_number(data); }
#endif

static unsigned mode_of(const struct seccomp_data *data) { return (unsigned)data->args[has_folder(data) ? 2 : 1] & 07777u & ~SETID_BITS; }

struct place mode_place(const struct seccomp_data *data) {
  if (is_by_number(data)) return (struct place){.folder = 0, .path = NO_ARGUMENT};
  return has_folder(data) ? (struct place){.folder = 0, .path = 1} : (struct place){.folder = NO_ARGUMENT, .path = 0};
}

/* Another name, such as a link to /proc/self/fd, may lead to this process's own files by their numbers. So it has few of them. */
static void close_own_files(const struct call *call) {
  const int own[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, call->folder, call->root, call->cwd};
  for (size_t i = 0; i < COUNT(own); i++) close(own[i]);
}

/* Opens what the path names without any right to it. -1 with errno set. */
static int open_target(const struct call *call, unsigned flags) {
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

static long change_by_path(const struct call *call, const struct own_process *own) {
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

int change_mode(const struct call *call, const struct own_process *own) {
  char name[16];
  close_own_files(call);
  snprintf(name, sizeof name, "%d", call->file);
  long result = is_by_number(call->data) ? syscall(__NR_fchmodat, own->files, name, mode_of(call->data)) : change_by_path(call, own);
  return result == 0 ? 0 : errno;
}
