/* The entries of /proc that a sandbox sees beside its own processes. All others are covered, entries of newer kernels too. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* A link needs no cover: its target is covered or shown. */
static void cover(int proc, const char *name, const char *file, const char *folder) {
  int target = openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (target < 0 || fstat(target, &status) < 0) die_over(name);
  if (S_ISLNK(status.st_mode)) close(target);
  else attach_mount(clone_mount(AT_FDCWD, S_ISDIR(status.st_mode) ? folder : file, 0), target, name);
}

void cover_proc(int proc, const char *file, const char *folder) {
  int list = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = list < 0 ? NULL : fdopendir(list);
  if (entries == NULL) die("list /proc");
  struct dirent *entry;
  for (errno = 0; (entry = readdir(entries)) != NULL; errno = 0)
    if (!is_shown(entry->d_name)) cover(proc, entry->d_name, file, folder);
  if (errno != 0) die("list /proc");
  closedir(entries);
  close(proc);
}
