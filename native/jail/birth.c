/* The clone that makes the sandbox's first process. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

/*
 * The user namespace belongs to the sandbox's own host uid. So the kernel counts inotify instances and namespaces for each sandbox apart.
 * The file system id stays 0: a process needs it to be born into a v2 group.
 */
static void lend_ids(uint32_t id) {
  if (setresgid(id, id, 0) < 0 || setresuid(id, id, 0) < 0) die("take the sandbox's ids for its birth");
  setfsuid(0);
}

static void take_ids_back(void) {
  if (setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0) die("take root's ids back");
}

pid_t clone_inside(const struct spec *spec, uint32_t first_id, int *pidfd) {
  int group = open_cgroup_v2(spec);
  struct clone_args args = {
      .flags = (uint64_t)CLONE_NEWUSER | (uint64_t)CLONE_NEWPID | (uint64_t)CLONE_PIDFD | (group >= 0 ? (uint64_t)CLONE_INTO_CGROUP : 0u),
      .pidfd = (uint64_t)(uintptr_t)pidfd,
      .exit_signal = SIGCHLD,
      .cgroup = group >= 0 ? (unsigned)group : 0u,
  };
  bool is_root = spec->id_map == ID_MAP_SLOT;
  if (is_root) lend_ids(first_id);
  pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  int error = errno;
  if (pid == 0) return 0;
  if (is_root) take_ids_back();
  if (pid < 0) die_with(error, "make the user and PID namespaces");
  if (group >= 0) close(group);
  return pid;
}
