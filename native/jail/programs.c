/*
 * The user namespace of a sandbox's programs.
 *
 * The kernel counts processes for each user of a user namespace, and besides, all processes of a user namespace for the user who made it.
 * The limit of the first count is the process's own (RLIMIT_NPROC), so root inside has it again for each id that it takes. The limit of the
 * second is the one that the maker had then. So the programs have a namespace of their own, made with the sandbox's limit. The guest stays
 * in the one above: its own processes still start when the programs have all that they may have.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "jail.h"

#define STACK_BYTES 16384u

/* It shares this process's memory, and does nothing but be in the namespace until that is open. */
static int be_first(void *unused) {
  (void)unused;
  while (pause() < 0) continue;
  return 0;
}

/* The namespace takes over the limit that its maker has when it is made. */
static pid_t clone_first(const struct spec *spec) {
  static char stack[STACK_BYTES] __attribute__((aligned(16)));
  struct rlimit own;
  if (getrlimit(RLIMIT_NPROC, &own) < 0) die("read the limit of processes");
  struct rlimit all = {.rlim_cur = spec->pids + GUEST_COUNTED_PROCESSES, .rlim_max = own.rlim_max};
  if (spec->pids != 0 && all.rlim_cur < own.rlim_cur && setrlimit(RLIMIT_NPROC, &all) < 0) die("limit the processes of all programs");
  pid_t first = clone(be_first, stack + STACK_BYTES, CLONE_NEWUSER | CLONE_VM | SIGCHLD, NULL);
  if (first < 0) die("make the user namespace of programs");
  if (setrlimit(RLIMIT_NPROC, &own) < 0) die("limit the processes");
  return first;
}

struct programs make_programs(const struct spec *spec) {
  struct programs programs = {.user_namespace = 0, .first = 0};
  if (spec->id_map == ID_MAP_SINGLE) return programs;
  /* Without it, the files below are the host's root's. No program runs yet, and the guest is made untraceable before one does. */
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) die("show this process's files to itself");
  programs.first = clone_first(spec);
  copy_id_maps(spec, programs.first);
  programs.user_namespace = open_user_namespace_of(programs.first);
  kill(programs.first, SIGKILL);
  return programs;
}

void await_first(const struct programs *programs) {
  while (programs->first > 0 && waitpid(programs->first, NULL, 0) < 0 && errno == EINTR) continue;
}
