#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>

#include "jail.h"

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "belljar builds on x86_64 and aarch64"
#endif

/* Numbers from here on are the x32 ABI: the same calls with other numbers. */
#define X32_BIT 0x40000000u

void emit(struct filter *filter, unsigned short code, unsigned char if_true, unsigned char if_false, unsigned value) {
  if (filter->length == FILTER_MAX) refuse("the seccomp filter is longer than its room");
  struct sock_filter *at = &filter->at[filter->length++];
  at->code = code;
  at->jt = if_true;
  at->jf = if_false;
  at->k = value;
}

void load(struct filter *filter, size_t offset) { emit(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset); }
void answer(struct filter *filter, unsigned value) { emit(filter, BPF_RET | BPF_K, 0, 0, value); }
unsigned fail_with(unsigned error) { return SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA); }
size_t argument(unsigned index) { return offsetof(struct seccomp_data, args) + index * sizeof(__u64); }

void allow_without_bits(struct filter *filter, unsigned number, unsigned argument_index, unsigned bits, unsigned otherwise) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, number);
  load(filter, argument(argument_index));
  emit(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
  answer(filter, otherwise);
  answer(filter, SECCOMP_RET_ALLOW);
}

void forbid_value(struct filter *filter, unsigned number, unsigned argument_index, unsigned value, unsigned error) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, number);
  load(filter, argument(argument_index));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
  answer(filter, fail_with(error));
  load(filter, offsetof(struct seccomp_data, nr));
}

void forbid_flags(struct filter *filter, unsigned number, unsigned argument_index, unsigned forbidden) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, number);
  load(filter, argument(argument_index));
  emit(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, forbidden);
  answer(filter, fail_with(EPERM));
  load(filter, offsetof(struct seccomp_data, nr));
}

unsigned skip_unless(struct filter *filter, unsigned number) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, number);
  emit(filter, BPF_JMP | BPF_JA, 0, 0, 0);
  return filter->length;
}

void land(struct filter *filter, unsigned from) { filter->at[from - 1].k = filter->length - from; }

void refuse_other_tables(struct filter *filter) {
  load(filter, offsetof(struct seccomp_data, arch));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, THIS_ARCH);
  answer(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  emit(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
  answer(filter, SECCOMP_RET_KILL_PROCESS);
#endif
}
