/* A setuid file in a folder of the host would give its owner's rights to other users there. */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>

#include "filter.h"
#include "modes.h"

#define MAKES_A_FILE (unsigned)(O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* The mode of an open counts only if the call makes a file. Otherwise the register has any value. */
static void forbid_setid_open(struct filter *filter, unsigned number, unsigned flags_index) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, number);
  load(filter, argument(flags_index));
  emit(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 3, MAKES_A_FILE);
  load(filter, argument(flags_index + 1));
  emit(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, SETID_BITS);
  answer(filter, fail_with(EPERM));
  answer(filter, SECCOMP_RET_ALLOW);
}

/* mkdir stays as it is: the kernel takes these bits from its mode. A filter cannot read the mode of openat2. */
void forbid_setid_files(struct filter *filter, bool has_listener) {
  unsigned refused = fail_with(EPERM);
  unsigned changed = has_listener ? SECCOMP_RET_USER_NOTIF : refused;
  allow_without_bits(filter, __NR_fchmod, 1, SETID_BITS, changed);
  allow_without_bits(filter, __NR_fchmodat, 2, SETID_BITS, changed);
  allow_without_bits(filter, NUMBER_FCHMODAT2, 2, SETID_BITS, changed);
  allow_without_bits(filter, __NR_mknodat, 2, SETID_BITS, refused);
  forbid_setid_open(filter, __NR_openat, 2);
#if defined(__x86_64__)
  allow_without_bits(filter, __NR_chmod, 1, SETID_BITS, changed);
  allow_without_bits(filter, __NR_creat, 1, SETID_BITS, refused);
  allow_without_bits(filter, __NR_mknod, 1, SETID_BITS, refused);
  forbid_setid_open(filter, __NR_open, 1);
#endif
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_openat2);
  answer(filter, fail_with(ENOSYS));
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

void forbid_file_state(struct filter *filter) {
  for (size_t i = 0; i < sizeof FILE_STATE / sizeof FILE_STATE[0]; i++) forbid_value(filter, __NR_ioctl, 1, FILE_STATE[i], EOPNOTSUPP);
}
