/* The capabilities of the sandbox's root. They hold in the sandbox's own user namespace alone. */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "rights.h"

static const struct {
  unsigned capability;
  const char *reason;
} KEPT[] = {
    {CAP_CHOWN, "package managers and tar give files to others"},
    {CAP_DAC_OVERRIDE, "root reads and writes the sandbox's own files"},
    {CAP_FOWNER, "chmod and utime on the sandbox's own files"},
    {CAP_FSETID, "keeps set-id bits when root writes; they do nothing here, but tar compares them"},
    {CAP_KILL, "the guest signals the processes of every user inside"},
    {CAP_SETGID, "the guest and su change groups"},
    {CAP_SETUID, "the guest and su change users"},
    {CAP_SETPCAP, "programs drop what they do not need"},
    {CAP_NET_BIND_SERVICE, "ports below 1024 of the sandbox's own network"},
    {CAP_SYS_CHROOT, "apt and chroot-based builders"},
    {CAP_AUDIT_WRITE, "su and login write an audit record or fail"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CAPABILITY_LAST 63u

static bool set_exactly(uint64_t effective, uint64_t permitted) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  for (unsigned i = 0; i < 2; i++) {
    data[i].effective = (uint32_t)(effective >> (32 * i));
    data[i].permitted = (uint32_t)(permitted >> (32 * i));
    data[i].inheritable = 0;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

/* The guest's mark is in no bounding set, so that no program gets it. It is permitted and never effective. */
static bool set_capabilities(uint64_t effective, uint64_t permitted) { return set_exactly(effective, permitted | 1ull << GUEST_MARK); }

uint64_t permitted_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return (data[0].permitted | (uint64_t)data[1].permitted << 32) & ~(1ull << GUEST_MARK);
}

bool take_capabilities(uint64_t taken) { return set_capabilities(taken, taken); }

static void limit_bounding_set(uint64_t kept) {
  for (unsigned long capability = 0; capability <= CAPABILITY_LAST; capability++) {
    if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) < 0) break; /* this kernel knows no more */
    if (kept & (1ull << capability)) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) die("drop a capability");
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) die("clear the ambient capabilities");
}

static void limit_to(uint64_t kept) {
  limit_bounding_set(kept);
  if (!set_capabilities(kept, kept | 1ull << LENT_CAPABILITY)) die("set the capabilities");
}

void keep_capabilities(void) {
  uint64_t kept = 0;
  for (size_t i = 0; i < COUNT(KEPT); i++) kept |= 1ull << KEPT[i].capability;
  limit_to(kept);
}

void keep_no_capability(void) { limit_to(0); }

void drop_capabilities(void) {
  if (!set_exactly(0, 0)) die("drop the capabilities");
}

void keep_capabilities_alone(uint64_t kept) {
  limit_bounding_set(kept);
  if (!set_exactly(kept, kept)) die("set the capabilities");
}
