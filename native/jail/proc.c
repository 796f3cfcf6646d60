/* The entries of /proc that a sandbox sees beside its own processes. All others are covered, entries of newer kernels too. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

static const struct {
  const char *name, *reason;
} SHOWN[] = {
    {"cgroups", "Java and container tools ask which controllers there are"},
    {"cpuinfo", "programs choose their instructions and count processors"},
    {"filesystems", "mount, df and psutil tell disks from what is none"},
    {"loadavg", "uptime, top, make -l"},
    {"meminfo", "free, top and every run-time that sizes its heap"},
    {"mounts", "a link to the process's own"},
    {"net", "a link to the process's own network, which is the sandbox's"},
    {"self", "a link to the process's own folder"},
    {"stat", "top, nproc and run-times count processors and time"},
    {"swaps", "free and psutil"},
    {"sys", "the kernel's settings, read-only; libc reads some"},
    {"thread-self", "a link to the thread's own folder"},
    {"uptime", "uptime, ps and process start times"},
    {"version", "programs ask which kernel this is; uname says the same"},
    {"vmstat", "vmstat and psutil"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_shown(const char *name) {
  if (name[0] == '.' || isdigit((unsigned char)name[0])) return true;
  for (size_t i = 0; i < COUNT(SHOWN); i++)
    if (strcmp(SHOWN[i].name, name) == 0) return true;
  return false;
}

static _Noreturn void die_over(const char *name) {
  int error = errno;
  char step[320];
  snprintf(step, sizeof step, "cover /proc/%s", name);
  die_with(error, step);
}

static bool is_folder(int proc, const char *name) {
  struct stat status;
  if (fstatat(proc, name, &status, AT_SYMLINK_NOFOLLOW) < 0) die_over(name);
  return S_ISDIR(status.st_mode);
}

/* One call an entry less than usual: there are dozens. The last part of a path is not followed if it is a link. */
static void cover(int proc, const struct dirent *entry, const char *file, const char *folder) {
  if (entry->d_type == DT_LNK) return; /* a link needs no cover: its target is covered or shown */
  bool covers_folder = entry->d_type == DT_DIR || (entry->d_type == DT_UNKNOWN && is_folder(proc, entry->d_name));
  int tree = clone_mount(AT_FDCWD, covers_folder ? folder : file, 0);
  if (syscall(SYS_move_mount, tree, "", proc, entry->d_name, MOVE_MOUNT_F_EMPTY_PATH) < 0) die_over(entry->d_name);
  close(tree);
}

void cover_proc(int proc, const char *file, const char *folder) {
  int list = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = list < 0 ? NULL : fdopendir(list);
  if (entries == NULL) die("list /proc");
  struct dirent *entry;
  for (errno = 0; (entry = readdir(entries)) != NULL; errno = 0)
    if (!is_shown(entry->d_name)) cover(proc, entry, file, folder);
  if (errno != 0) die("list /proc");
  closedir(entries);
  close(proc);
}
