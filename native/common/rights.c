#include "rights.h"

#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whoever enters a user namespace first has every capability there. */
bool enter_programs(int user_namespace) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0 || setns(user_namespace, CLONE_NEWUSER) != 0) return false;
  uint64_t kept = (data[0].permitted | (uint64_t)data[1].permitted << 32) & ~(1ull << GUEST_MARK);
  for (unsigned long capability = 0; capability < 64 && prctl(PR_CAPBSET_READ, capability, 0L, 0L, 0L) >= 0; capability++) {
    if ((kept & 1ull << capability) == 0 && prctl(PR_CAPBSET_DROP, capability, 0L, 0L, 0L) != 0) return false;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

bool keep_mark_alone(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return false;
  uint32_t mark = data[0].permitted & (1u << GUEST_MARK);
  data[0] = (struct __user_cap_data_struct){.permitted = mark};
  data[1] = (struct __user_cap_data_struct){.permitted = 0};
  return syscall(SYS_capset, &header, data) == 0;
}
