#include "rights.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

bool keep_mark_alone(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return false;
  uint32_t mark = data[0].permitted & (1u << GUEST_MARK);
  data[0] = (struct __user_cap_data_struct){.permitted = mark};
  data[1] = (struct __user_cap_data_struct){.permitted = 0};
  return syscall(SYS_capset, &header, data) == 0;
}
