/*
 * The kernel works on a group's memory in the process that asks for it, and may take long. So a child asks: it has the group's file alone, and
 * ends with the keeper, with its time, and when the sandbox goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail.h"

#define RECLAIM_SECONDS 10

static int open_file(const struct spec *spec, enum cgroup_kind kind) {
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    if (spec->cgroups[i].kind != kind) continue;
    int group = open_group(spec, &spec->cgroups[i]);
    int file = group < 0 ? -1 : openat(group, kind == CGROUP_V2 ? "memory.reclaim" : "memory.force_empty", O_WRONLY | O_CLOEXEC);
    if (group >= 0) close(group);
    return file;
  }
  return -1;
}

/* v2 is told how much; v1 takes all that it can, whatever is written. A failure says that less was taken. */
static _Noreturn void reclaim(int file, uint64_t bytes) {
  char text[32];
  int length = snprintf(text, sizeof text, "%" PRIu64, bytes);
  if (dup2(file, STDIN_FILENO) < 0 || syscall(SYS_close_range, 1u, ~0u, 0u) < 0) _exit(EXIT_FAILURE);
  alarm(RECLAIM_SECONDS);
  _exit(write(STDIN_FILENO, text, (size_t)length) == length ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void begin(struct reclaim *reclaimer, int file, uint64_t bytes) {
  pid_t keeper = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != keeper) _exit(EXIT_FAILURE);
    reclaim(file, bytes);
  }
  if (pid < 0) return;
  *reclaimer = (struct reclaim){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0u)};
  if (reclaimer->pidfd >= 0) return;
  kill(pid, SIGKILL); /* it is not reaped yet, so the pid is its own */
  reclaim_end(reclaimer);
}

void reclaim_begin(const struct spec *spec, struct reclaim *reclaimer) {
  struct cgroup_usage usage;
  if (reclaimer->pid != 0) return;
  int file = open_file(spec, CGROUP_V2);
  if (file < 0) file = open_file(spec, CGROUP_MEMORY);
  if (file < 0) return;
  read_cgroup_usage(spec, &usage);
  begin(reclaimer, file, usage.memory);
  close(file);
}

void reclaim_stop(const struct reclaim *reclaimer) {
  if (reclaimer->pid != 0) syscall(SYS_pidfd_send_signal, reclaimer->pidfd, SIGKILL, NULL, 0u);
}

void reclaim_end(struct reclaim *reclaimer) {
  while (waitpid(reclaimer->pid, NULL, 0) < 0 && errno == EINTR) continue;
  if (reclaimer->pidfd >= 0) close(reclaimer->pidfd);
  *reclaimer = (struct reclaim){.pid = 0, .pidfd = -1};
}
