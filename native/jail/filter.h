/* Puts a filter of system calls together, instruction by instruction. */
#ifndef BELLJAR_FILTER_H
#define BELLJAR_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

/* The kernel's own bound. */
#define FILTER_MAX BPF_MAXINSNS

struct filter {
  struct sock_filter at[FILTER_MAX];
  unsigned short length;
};

/* Every function below that reads an argument leaves the call's number loaded for the next one, unless it ends the filter. */
void emit(struct filter *filter, unsigned short code, unsigned char if_true, unsigned char if_false, unsigned value);
void load(struct filter *filter, size_t offset);
/* Ends a process that calls through another architecture's table. Loads the call's number. */
void refuse_other_tables(struct filter *filter);
/* The low 32 bits of an argument. The kernel ignores the high bits, so a filter that compared them could be passed. */
size_t argument(unsigned index);
void answer(struct filter *filter, unsigned value);
/* The answer that fails a call with `error`. */
unsigned fail_with(unsigned error);
/* Allows the call unless its argument has one of the `bits`. Then the call gets `otherwise`. */
void allow_without_bits(struct filter *filter, unsigned number, unsigned argument_index, unsigned bits, unsigned otherwise);
/* Refuses one value of an argument with `error`. Later rows decide on other values. */
void forbid_value(struct filter *filter, unsigned number, unsigned argument_index, unsigned value, unsigned error);
/* Refuses arguments with one of these bits. Later rows decide on others. */
void forbid_flags(struct filter *filter, unsigned number, unsigned argument_index, unsigned forbidden);
/* The instructions up to `land` run only for the call `number`. They must end the filter in every case. */
unsigned skip_unless(struct filter *filter, unsigned number);
void land(struct filter *filter, unsigned from);

/*
 * setid.c: what a sandbox may not do to the files of a folder of the host. A call of the chmod family with setuid or setgid bits is told
 * to the listener of the filter (modes.h). Without a listener it fails with EPERM.
 */
void forbid_setid_files(struct filter *filter, bool has_listener);
void forbid_file_state(struct filter *filter);

#endif
