/* Limits of all processes of a sandbox together. Uses cgroup v2 if it is delegated, and v1 on hosts that still have it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define CPU_PERIOD_US 100000u
#define NUMBER_TEXT 64
/* Comes on top of the limit of memory. It is enough for hundreds of busy connections. */
#define SOCKET_MEMORY (32u * 1024 * 1024)
#define SOCKET_MEMORY_FILE "memory.kmem.tcp.limit_in_bytes"

/* Each run has groups of its own. */
static void group_path(const struct spec *spec, const struct cgroup *cgroup, char path[PATH_MAX]) {
  if (snprintf(path, PATH_MAX, "%s/%s-%u", cgroup->path, spec->id, (unsigned)spec->run) >= PATH_MAX) refuse("the path of a control group is too long");
}

int open_group(const struct spec *spec, const struct cgroup *cgroup) {
  char path[PATH_MAX];
  group_path(spec, cgroup, path);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool write_group_file(int group, const char *name, const char *text) {
  int fd = openat(group, name, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  int error = errno;
  close(fd);
  errno = error;
  return written;
}

static void need_write(int group, const char *name, const char *text) {
  if (write_group_file(group, name, text)) return;
  int error = errno;
  char step[128];
  snprintf(step, sizeof step, "write %s of the sandbox's control group", name);
  die_with(error, step);
}

static void write_number(int group, const char *name, uint64_t number) {
  char text[NUMBER_TEXT];
  snprintf(text, sizeof text, "%" PRIu64, number);
  need_write(group, name, text);
}

static void limit_memory_v1(const struct spec *spec, int group) {
  if (spec->memory == 0) return;
  write_number(group, "memory.limit_in_bytes", spec->memory + RESERVED_MEMORY);
  /* A kernel without swap accounting has no such file. Swap then has no limit. */
  if (faccessat(group, "memory.memsw.limit_in_bytes", W_OK, 0) == 0) write_number(group, "memory.memsw.limit_in_bytes", spec->memory + RESERVED_MEMORY);
  /* v1 counts the queues of TCP and UDP apart, and only if they have a limit of their own. */
  if (faccessat(group, SOCKET_MEMORY_FILE, W_OK, 0) == 0) write_number(group, SOCKET_MEMORY_FILE, SOCKET_MEMORY);
}

static void limit_cpu_v1(const struct spec *spec, int group) {
  if (spec->cpu_milli == 0) return;
  write_number(group, "cpu.cfs_period_us", CPU_PERIOD_US);
  write_number(group, "cpu.cfs_quota_us", (uint64_t)spec->cpu_milli * CPU_PERIOD_US / 1000);
}

static void limit_v2(const struct spec *spec, int group) {
  if (spec->memory != 0) {
    write_number(group, "memory.max", spec->memory + RESERVED_MEMORY);
    if (faccessat(group, "memory.swap.max", W_OK, 0) == 0) write_number(group, "memory.swap.max", 0);
  }
  /* If this controller is not delegated, RLIMIT_NPROC is the only limit of processes. */
  if (spec->pids != 0 && faccessat(group, "pids.max", W_OK, 0) == 0) write_number(group, "pids.max", spec->pids + GUEST_RESERVED_PROCESSES);
  if (spec->cpu_milli == 0) return;
  char text[NUMBER_TEXT];
  snprintf(text, sizeof text, "%" PRIu64 " %u", (uint64_t)spec->cpu_milli * CPU_PERIOD_US / 1000, CPU_PERIOD_US);
  need_write(group, "cpu.max", text);
}

static void limit(const struct spec *spec, const struct cgroup *cgroup, int group) {
  switch (cgroup->kind) {
    case CGROUP_MEMORY: limit_memory_v1(spec, group); return;
    case CGROUP_PIDS:
      if (spec->pids != 0) write_number(group, "pids.max", spec->pids + GUEST_RESERVED_PROCESSES);
      return;
    case CGROUP_CPU: limit_cpu_v1(spec, group); return;
    case CGROUP_CPUACCT:
    case CGROUP_FREEZER: return;
    case CGROUP_V2: limit_v2(spec, group); return;
  }
}

void make_cgroups(const struct spec *spec) {
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    char path[PATH_MAX];
    group_path(spec, &spec->cgroups[i], path);
    if (mkdir(path, 0755) < 0) die("make the sandbox's control group");
    int group = open_group(spec, &spec->cgroups[i]);
    if (group < 0) die("open the sandbox's control group");
    limit(spec, &spec->cgroups[i], group);
    close(group);
  }
}

unsigned open_cgroup_joins(const struct spec *spec, int fds[CGROUPS_MAX]) {
  unsigned count = 0;
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    if (spec->cgroups[i].kind == CGROUP_V2) continue;
    int group = open_group(spec, &spec->cgroups[i]);
    fds[count] = group < 0 ? -1 : openat(group, "tasks", O_WRONLY | O_CLOEXEC);
    if (fds[count++] < 0) die("open the tasks of the sandbox's control group");
    close(group);
  }
  return count;
}

bool uses_cgroup_v2(const struct spec *spec) {
  for (unsigned i = 0; i < spec->cgroup_count; i++)
    if (spec->cgroups[i].kind == CGROUP_V2) return true;
  return false;
}

int open_cgroup_v2(const struct spec *spec) {
  for (unsigned i = 0; i < spec->cgroup_count; i++)
    if (spec->cgroups[i].kind == CGROUP_V2) return open_group(spec, &spec->cgroups[i]);
  return -1;
}

/* The child moves itself. To move another process takes the kernel's threadgroup lock, which waits for an RCU period (21 ms). */
void join_cgroups(const int *fds, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (write(fds[i], "0", 1) != 1) die("join the sandbox's control group");
    close(fds[i]);
  }
}

static uint64_t read_number(int group, const char *name) {
  char text[NUMBER_TEXT];
  int fd = openat(group, name, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  return strtoull(text, NULL, 10);
}

/* The file has lines of the form `KEY NUMBER`. 0: there is no such key. */
static uint64_t read_keyed(int group, const char *name, const char *key) {
  char text[1024];
  int fd = openat(group, name, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  for (char *line = text, *end; *line != 0; line = end) {
    end = strchrnul(line, '\n');
    if (*end != 0) *end++ = 0;
    size_t width = strlen(key);
    if (strncmp(line, key, width) == 0 && line[width] == ' ') return strtoull(line + width + 1, NULL, 10);
  }
  return 0;
}

static void read_v2(int group, struct cgroup_usage *usage) {
  usage->memory = read_number(group, "memory.current");
  usage->memory_peak = read_number(group, "memory.peak");
  usage->cpu_us = read_keyed(group, "cpu.stat", "usage_usec");
  usage->processes = (uint32_t)read_number(group, "pids.current");
  usage->oom_kills = (uint32_t)read_keyed(group, "memory.events", "oom_kill");
}

void read_cgroup_usage(const struct spec *spec, struct cgroup_usage *usage) {
  memset(usage, 0, sizeof *usage);
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    int group = open_group(spec, &spec->cgroups[i]);
    if (group < 0) continue;
    switch (spec->cgroups[i].kind) {
      case CGROUP_MEMORY:
        usage->memory = read_number(group, "memory.usage_in_bytes");
        usage->memory_peak = read_number(group, "memory.max_usage_in_bytes");
        usage->oom_kills = (uint32_t)read_keyed(group, "memory.oom_control", "oom_kill");
        break;
      case CGROUP_PIDS: usage->processes = (uint32_t)read_number(group, "pids.current"); break;
      case CGROUP_CPU: /* most hosts mount it together with cpuacct; the specification then has it once */
      case CGROUP_CPUACCT:
        if (usage->cpu_us == 0) usage->cpu_us = read_number(group, "cpuacct.usage") / 1000;
        break;
      case CGROUP_V2: read_v2(group, usage); break;
      case CGROUP_FREEZER: break;
    }
    close(group);
  }
}

/* Between reading the list and opening a process, the pid may pass to another process. So the list is read again after the open. */
static bool is_listed(int group, pid_t pid, pid_t *first) {
  char text[4096], *end = text;
  int fd = openat(group, "cgroup.procs", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[length < 0 ? 0 : length] = 0;
  *first = 0;
  for (char *line = text; *line != 0; line = *end == 0 ? end : end + 1) {
    pid_t found = (pid_t)strtol(line, &end, 10);
    if (end == line) break;
    if (*first == 0) *first = found;
    if (found == pid) return true;
  }
  return false;
}

static void end_group(int group) {
  pid_t pid = 0, other = 0;
  for (is_listed(group, 0, &pid); pid > 0; is_listed(group, 0, &pid)) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0u);
    if (process < 0 && errno != ESRCH) return;
    if (process < 0) continue;
    struct pollfd gone = {.fd = process, .events = POLLIN};
    if (is_listed(group, pid, &other) && syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0u) == 0) poll(&gone, 1, -1);
    close(process);
  }
}

void end_cgroups(const struct spec *spec) {
  freeze_cgroups(spec, false);
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    int group = open_group(spec, &spec->cgroups[i]);
    if (group < 0) continue;
    end_group(group);
    close(group);
  }
}

/* The groups are empty: the first process of the PID namespace ends last, and it was waited for. */
bool remove_cgroups(const struct spec *spec) {
  bool removed = true;
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    char path[PATH_MAX];
    group_path(spec, &spec->cgroups[i], path);
    if (rmdir(path) < 0 && errno != ENOENT) removed = false;
  }
  return removed;
}
