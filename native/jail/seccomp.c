/* The filter of system calls. syscalls.table has the calls with their reasons. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
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

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "belljar builds on x86_64 and aarch64"
#endif

/* Numbers from here on are the x32 ABI: the same calls with other numbers. */
#define X32_BIT 0x40000000u

#define NAMESPACE_FLAGS \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80u /* CLONE_NEWTIME */)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* At most three instructions for a range, two for a refusal, eight for a socket, six for an option, and the fixed part. */
#define PROGRAM_MAX (COUNT(ALLOWED) * 3 + COUNT(REFUSED) * 2 + COUNT(SOCKETS) * 8 + COUNT(OPTIONS) * 6 + 192)

struct program {
  struct sock_filter at[PROGRAM_MAX];
  unsigned short length;
};

static void emit(struct program *program, unsigned short code, unsigned char if_true, unsigned char if_false, unsigned value) {
  if (program->length == PROGRAM_MAX) refuse("the seccomp filter is longer than its room");
  struct sock_filter *at = &program->at[program->length++];
  at->code = code;
  at->jt = if_true;
  at->jf = if_false;
  at->k = value;
}

static void load(struct program *program, size_t offset) { emit(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset); }
static void answer(struct program *program, unsigned value) { emit(program, BPF_RET | BPF_K, 0, 0, value); }
static unsigned fail_with(unsigned error) { return SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA); }

/* The low 32 bits of an argument. The kernel ignores the high bits, so a filter that compared them could be passed. */
static size_t argument(unsigned index) { return offsetof(struct seccomp_data, args) + index * sizeof(__u64); }

/* Allows the call unless its argument has one of the `forbidden` bits. */
static void forbid_bits(struct program *program, unsigned number, unsigned argument_index, unsigned forbidden) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, number);
  load(program, argument(argument_index));
  emit(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, forbidden);
  answer(program, fail_with(EPERM));
  answer(program, SECCOMP_RET_ALLOW);
}

/* Refuses one value of an argument with `error`. Later rows decide on other values. */
static void forbid_value(struct program *program, unsigned number, unsigned argument_index, unsigned value, unsigned error) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, number);
  load(program, argument(argument_index));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
  answer(program, fail_with(error));
  load(program, offsetof(struct seccomp_data, nr));
}

/* Refuses arguments with one of these bits. Later rows decide on others. */
static void forbid_flags(struct program *program, unsigned number, unsigned argument_index, unsigned forbidden) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, number);
  load(program, argument(argument_index));
  emit(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, forbidden);
  answer(program, fail_with(EPERM));
  load(program, offsetof(struct seccomp_data, nr));
}

/* S_IFBLK has the bit of S_IFCHR too. Anybody may make the character device 0:0, which an overlay takes for a deleted file. */
static void forbid_devices(struct program *program) {
  forbid_flags(program, __NR_mknodat, 2, S_IFCHR);
#if defined(__x86_64__)
  forbid_flags(program, __NR_mknod, 1, S_IFCHR);
#endif
  forbid_flags(program, __NR_renameat2, 4, RENAME_WHITEOUT);
}

#define SETID_BITS 06000u
#define MAKES_A_FILE (unsigned)(O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* The mode of an open counts only if the call makes a file. Otherwise the register has any value. */
static void forbid_setid_open(struct program *program, unsigned number, unsigned flags_index) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, number);
  load(program, argument(flags_index));
  emit(program, BPF_JMP | BPF_JSET | BPF_K, 0, 3, MAKES_A_FILE);
  load(program, argument(flags_index + 1));
  emit(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, SETID_BITS);
  answer(program, fail_with(EPERM));
  answer(program, SECCOMP_RET_ALLOW);
}

/*
 * prlimit64 sets the limits of another process. With several ids, the guest's saved group forbids it (rights.h). With one id, the filter
 * allows the call only for the caller itself (pid 0), or to read limits.
 */
static void forbid_limits_of_others(struct program *program) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 8, __NR_prlimit64);
  load(program, argument(0));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 0);
  load(program, argument(2));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
  load(program, argument(2) + sizeof(__u32));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
  answer(program, fail_with(EPERM));
  answer(program, SECCOMP_RET_ALLOW);
}

/* A setuid file in a folder of the host would give its owner's rights to other users there. A filter cannot read the mode of openat2. */
static void forbid_setid_files(struct program *program) {
  forbid_bits(program, __NR_fchmod, 1, SETID_BITS);
  forbid_bits(program, __NR_fchmodat, 2, SETID_BITS);
  forbid_bits(program, 452 /* fchmodat2 */, 2, SETID_BITS);
  forbid_bits(program, __NR_mknodat, 2, SETID_BITS);
  forbid_setid_open(program, __NR_openat, 2);
#if defined(__x86_64__)
  forbid_bits(program, __NR_chmod, 1, SETID_BITS);
  forbid_bits(program, __NR_creat, 1, SETID_BITS);
  forbid_bits(program, __NR_mknod, 1, SETID_BITS);
  forbid_setid_open(program, __NR_open, 1);
#endif
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_openat2);
  answer(program, fail_with(ENOSYS));
}

/* Attributes that the owner of a file can set, and that the host's user may not see or cannot undo. Most file systems lack these calls. */
static const unsigned FILE_STATE[] = {
    FS_IOC_SETFLAGS,
    FS_IOC_FSSETXATTR,
    FS_IOC_ENABLE_VERITY,
    FS_IOC_SET_ENCRYPTION_POLICY,
    FS_IOC_ADD_ENCRYPTION_KEY,
    FS_IOC_REMOVE_ENCRYPTION_KEY,
    FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS,
};

static void forbid_file_state(struct program *program) {
  for (size_t i = 0; i < COUNT(FILE_STATE); i++) forbid_value(program, __NR_ioctl, 1, FILE_STATE[i], EOPNOTSUPP);
}

static void mask_ioctl(struct program *program) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, __NR_ioctl);
  load(program, argument(1));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, TIOCSTI);
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, TIOCLINUX);
  answer(program, fail_with(EPERM));
  answer(program, SECCOMP_RET_ALLOW);
}

/* The instructions up to `land` run only for the call `number`. They must end the program in every case. */
static unsigned skip_unless(struct program *program, unsigned number) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, number);
  emit(program, BPF_JMP | BPF_JA, 0, 0, 0);
  return program->length;
}

static void land(struct program *program, unsigned from) { program->at[from - 1].k = program->length - from; }

/* Allows one row of SOCKETS. The argument of the type also has flags (SOCK_CLOEXEC). */
static void allow_socket(struct program *program, const struct socket_kind *kind) {
  load(program, argument(0));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, kind->family);
  load(program, argument(1));
  emit(program, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf /* SOCK_TYPE_MASK of the kernel */);
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, kind->type);
  load(program, argument(2));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kind->protocol);
  answer(program, SECCOMP_RET_ALLOW);
}

static bool is_new_family(size_t row) { return row == 0 || SOCKETS[row].family != SOCKETS[row - 1].family; }

/* A refused socket answers as on a kernel without it. So programs that try MPTCP first go on with TCP. */
static void mask_sockets(struct program *program, unsigned number) {
  unsigned start = skip_unless(program, number);
  for (size_t i = 0; i < COUNT(SOCKETS); i++) allow_socket(program, &SOCKETS[i]);
  load(program, argument(0));
  for (size_t i = 0; i < COUNT(SOCKETS); i++) {
    if (!is_new_family(i)) continue;
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SOCKETS[i].family);
    answer(program, fail_with(EPROTONOSUPPORT));
  }
  answer(program, fail_with(EAFNOSUPPORT));
  land(program, start);
}

static void mask_options(struct program *program) {
  unsigned start = skip_unless(program, __NR_setsockopt);
  for (size_t i = 0; i < COUNT(OPTIONS); i++) {
    load(program, argument(1));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, OPTIONS[i].level);
    load(program, argument(2));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, OPTIONS[i].name);
    answer(program, fail_with(OPTIONS[i].error));
  }
  answer(program, SECCOMP_RET_ALLOW);
  land(program, start);
}

/* Filters of a sandbox use memory that the whole machine shares (bpf_jit_limit). */
static void forbid_filters(struct program *program) {
  forbid_value(program, __NR_seccomp, 0, SECCOMP_SET_MODE_FILTER, EINVAL);
  forbid_value(program, __NR_prctl, 0, PR_SET_SECCOMP, EINVAL);
}

static int compare_numbers(const void *left, const void *right) {
  unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
  return a < b ? -1 : a > b;
}

static void allow_ranges(struct program *program) {
  unsigned numbers[COUNT(ALLOWED)];
  for (size_t i = 0; i < COUNT(ALLOWED); i++) numbers[i] = ALLOWED[i];
  qsort(numbers, COUNT(numbers), sizeof(numbers[0]), compare_numbers);
  for (size_t i = 0; i < COUNT(numbers);) {
    size_t last = i;
    while (last + 1 < COUNT(numbers) && numbers[last + 1] <= numbers[last] + 1) last++;
    emit(program, BPF_JMP | BPF_JGE | BPF_K, 0, 2, numbers[i]);
    emit(program, BPF_JMP | BPF_JGT | BPF_K, 1, 0, numbers[last]);
    answer(program, SECCOMP_RET_ALLOW);
    i = last + 1;
  }
}

void install_seccomp(struct seccomp_options options) {
  struct program program = {.length = 0};
  load(&program, offsetof(struct seccomp_data, arch));
  emit(&program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, THIS_ARCH);
  answer(&program, SECCOMP_RET_KILL_PROCESS);
  load(&program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  emit(&program, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
  answer(&program, SECCOMP_RET_KILL_PROCESS);
#endif
  forbid_bits(&program, __NR_clone, 0, NAMESPACE_FLAGS);
  forbid_bits(&program, __NR_unshare, 0, NAMESPACE_FLAGS);
  forbid_devices(&program);
  if (options.shares_folder) forbid_file_state(&program);
  if (options.shares_folder) forbid_setid_files(&program);
  if (options.single_id) forbid_limits_of_others(&program);
  forbid_value(&program, __NR_prctl, 0, PR_SCHED_CORE, EINVAL); /* it keeps the other threads of a processor idle */
  mask_ioctl(&program);
  mask_sockets(&program, __NR_socket);
  mask_sockets(&program, __NR_socketpair);
  mask_options(&program);
  if (!options.nested_filters) forbid_filters(&program);
  for (size_t i = 0; i < COUNT(REFUSED); i++) {
    emit(&program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, REFUSED[i].number);
    answer(&program, fail_with(REFUSED[i].error));
  }
  allow_ranges(&program);
  answer(&program, fail_with(ENOSYS));

  struct sock_fprog filter = {.len = program.length, .filter = program.at};
  if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &filter) < 0) die("install the seccomp filter");
}
