/* The filter of system calls. syscalls.table has the calls with their reasons. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <asm/unistd.h>
#include <unistd.h>

#include "filter.h"
#include "jail.h"

struct refusal {
  unsigned number;
  unsigned error;
};

struct socket_kind {
  unsigned family, type, protocol;
};

struct socket_option {
  unsigned level, name, error;
};

/* The headers of Debian 12 lack it. */
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY 38
#endif
/* From linux/in6.h, which cannot be included together with netinet/in.h. */
#define IPV6_FLOWLABEL_MGR 32

#include "syscalls.h"

#define NAMESPACE_FLAGS \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80u /* CLONE_NEWTIME */)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* S_IFBLK has the bit of S_IFCHR too. Anybody may make the character device 0:0, which an overlay takes for a deleted file. */
static void forbid_devices(struct filter *filter) {
  forbid_flags(filter, __NR_mknodat, 2, S_IFCHR);
#if defined(__x86_64__)
  forbid_flags(filter, __NR_mknod, 1, S_IFCHR);
#endif
  forbid_flags(filter, __NR_renameat2, 4, RENAME_WHITEOUT);
}

/*
 * prlimit64 sets the limits of another process. With several ids, the guest's saved group forbids it (rights.h). With one id, the filter
 * allows the call only for the caller itself (pid 0), or to read limits.
 */
static void forbid_limits_of_others(struct filter *filter) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 8, __NR_prlimit64);
  load(filter, argument(0));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 0);
  load(filter, argument(2));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
  load(filter, argument(2) + sizeof(__u32));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
  answer(filter, fail_with(EPERM));
  answer(filter, SECCOMP_RET_ALLOW);
}

static void mask_ioctl(struct filter *filter) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, __NR_ioctl);
  load(filter, argument(1));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, TIOCSTI);
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, TIOCLINUX);
  answer(filter, fail_with(EPERM));
  answer(filter, SECCOMP_RET_ALLOW);
}

/* Allows one row of SOCKETS. The argument of the type also has flags (SOCK_CLOEXEC). */
static void allow_socket(struct filter *filter, const struct socket_kind *kind) {
  load(filter, argument(0));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, kind->family);
  load(filter, argument(1));
  emit(filter, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf /* SOCK_TYPE_MASK of the kernel */);
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, kind->type);
  load(filter, argument(2));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kind->protocol);
  answer(filter, SECCOMP_RET_ALLOW);
}

static bool is_new_family(size_t row) { return row == 0 || SOCKETS[row].family != SOCKETS[row - 1].family; }

/* A refused socket answers as on a kernel without it. So programs that try MPTCP first go on with TCP. */
static void mask_sockets(struct filter *filter, unsigned number) {
  unsigned start = skip_unless(filter, number);
  for (size_t i = 0; i < COUNT(SOCKETS); i++) allow_socket(filter, &SOCKETS[i]);
  load(filter, argument(0));
  for (size_t i = 0; i < COUNT(SOCKETS); i++) {
    if (!is_new_family(i)) continue;
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SOCKETS[i].family);
    answer(filter, fail_with(EPROTONOSUPPORT));
  }
  answer(filter, fail_with(EAFNOSUPPORT));
  land(filter, start);
}

static void mask_options(struct filter *filter) {
  unsigned start = skip_unless(filter, __NR_setsockopt);
  for (size_t i = 0; i < COUNT(OPTIONS); i++) {
    load(filter, argument(1));
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, OPTIONS[i].level);
    load(filter, argument(2));
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, OPTIONS[i].name);
    answer(filter, fail_with(OPTIONS[i].error));
  }
  answer(filter, SECCOMP_RET_ALLOW);
  land(filter, start);
}

/* Filters of a sandbox use memory that the whole machine shares (bpf_jit_limit). */
static void forbid_filters(struct filter *filter) {
  forbid_value(filter, __NR_seccomp, 0, SECCOMP_SET_MODE_FILTER, EINVAL);
  forbid_value(filter, __NR_prctl, 0, PR_SET_SECCOMP, EINVAL);
}

static void tell_renames(struct filter *filter) {
  static const unsigned RENAMES[] = {
#if defined(__NR_rename)
      __NR_rename,
#endif
#if defined(__NR_renameat)
      __NR_renameat,
#endif
      __NR_renameat2,
  };
  for (size_t i = 0; i < COUNT(RENAMES); i++) {
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, RENAMES[i]);
    answer(filter, SECCOMP_RET_USER_NOTIF);
  }
}

/* The guest's children enter the user namespace of programs. It is the one that a program is in already, and a program reaches no other. */
static void allow_programs(struct filter *filter) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, __NR_setns);
  load(filter, argument(1));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, CLONE_NEWUSER);
  answer(filter, SECCOMP_RET_ALLOW);
  load(filter, offsetof(struct seccomp_data, nr));
}

static int compare_numbers(const void *left, const void *right) {
  unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
  return a < b ? -1 : a > b;
}

static void allow_ranges(struct filter *filter) {
  unsigned numbers[COUNT(ALLOWED)];
  for (size_t i = 0; i < COUNT(ALLOWED); i++) numbers[i] = ALLOWED[i];
  qsort(numbers, COUNT(numbers), sizeof(numbers[0]), compare_numbers);
  for (size_t i = 0; i < COUNT(numbers);) {
    size_t last = i;
    while (last + 1 < COUNT(numbers) && numbers[last + 1] <= numbers[last] + 1) last++;
    emit(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 2, numbers[i]);
    emit(filter, BPF_JMP | BPF_JGT | BPF_K, 1, 0, numbers[last]);
    answer(filter, SECCOMP_RET_ALLOW);
    i = last + 1;
  }
}

static void forbid_by_number(struct filter *filter) {
  for (size_t i = 0; i < COUNT(REFUSED); i++) {
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, REFUSED[i].number);
    answer(filter, fail_with(REFUSED[i].error));
  }
}

static void write_filter(struct filter *filter, struct seccomp_options options, bool has_listener) {
  refuse_other_tables(filter);
  allow_without_bits(filter, __NR_clone, 0, NAMESPACE_FLAGS, fail_with(EPERM));
  allow_without_bits(filter, __NR_unshare, 0, NAMESPACE_FLAGS, fail_with(EPERM));
  forbid_devices(filter);
  if (options.copies_folder && has_listener) tell_renames(filter);
  if (options.shares_folder) forbid_file_state(filter);
  if (options.shares_folder) forbid_setid_files(filter, has_listener);
  if (options.single_id) forbid_limits_of_others(filter);
  else allow_programs(filter);
  forbid_value(filter, __NR_prctl, 0, PR_SCHED_CORE, EINVAL); /* it keeps the other threads of a processor idle */
  mask_ioctl(filter);
  mask_sockets(filter, __NR_socket);
  mask_sockets(filter, __NR_socketpair);
  mask_options(filter);
  if (!options.nested_filters) forbid_filters(filter);
  forbid_by_number(filter);
  allow_ranges(filter);
  answer(filter, fail_with(ENOSYS));
}

static int set_filter(struct seccomp_options options, bool has_listener) {
  struct filter filter = {.length = 0};
  write_filter(&filter, options, has_listener);
  struct sock_fprog program = {.len = filter.length, .filter = filter.at};
  return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, has_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0u, &program);
}

/* Linux before 5.0 has no listeners, and a process has one at most: a container that Belljar runs in may have taken it. */
int install_seccomp(struct seccomp_options options, bool listens) {
  int listener = listens ? set_filter(options, true) : -1;
  if (listener < 0 && set_filter(options, false) < 0) die("install the seccomp filter");
  return listener;
}
