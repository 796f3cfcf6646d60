/* What the holder may ask of the kernel once it serves. */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"
#include "hold.h"

static const struct {
  unsigned number;
  const char *reason;
} NEEDED[] = {
    {SYS_epoll_pwait, "waits for requests"},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "waits for requests"},
#endif
    {SYS_epoll_ctl, "waits for a new client, or no longer for one"},
    {SYS_accept4, "takes a client"},
    {SYS_getsockopt, "asks whose process a client is"},
    {SYS_geteuid, "compares it with itself"},
    {SYS_recvmsg, "reads a request"},
    {SYS_sendmsg, "answers, and says that it is ready"},
    {SYS_read, "hears of folders that are deleted, or of layers to remove"},
    {SYS_lseek, "reads the list of watches from its beginning"},
    {SYS_inotify_add_watch, "watches the folder of a sandbox"},
    {SYS_inotify_rm_watch, "watches it no more"},
    {SYS_mount, "makes the file system of a sandbox"},
    {SYS_statfs, "looks how many files fit into it"},
    {SYS_umount2, "removes it"},
    {SYS_open_tree, "hands it out"},
    {SYS_mkdirat, "makes what it is mounted on"},
    {SYS_unlinkat, "removes what it was mounted on, and at the end the socket"},
    {SYS_newfstatat, "looks whether its socket is there, and tells one leash from another"},
    {SYS_fstat, "tells one leash from another"},
    {SYS_close, "lets go of descriptors"},
    {SYS_brk, "allocates"},
    {SYS_mmap, "allocates"},
    {SYS_munmap, "frees"},
    {SYS_mremap, "allocates"},
    {SYS_rt_sigreturn, "returns from a signal, as after a stop"},
    {SYS_restart_syscall, "goes on after a signal"},
    {SYS_exit_group, "ends"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Mounts are its work, in its own namespaces. */
void confine_holder(void) {
  static struct filter filter;
  keep_capabilities_alone(1ull << CAP_SYS_ADMIN);
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) die("make the holder untraceable");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("set no_new_privs");
  refuse_other_tables(&filter);
  for (size_t i = 0; i < COUNT(NEEDED); i++) {
    emit(&filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, NEEDED[i].number);
    answer(&filter, SECCOMP_RET_ALLOW);
  }
  answer(&filter, fail_with(EPERM)); /* its end would be the end of all that it holds */
  struct sock_fprog program = {.len = filter.length, .filter = filter.at};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) die("install the holder's filter");
}
