/*
 * A sandbox that can write into a folder of the host makes no setuid or setgid file there. Its calls of the chmod family with such bits are
 * told to the listener (answers.h): a process makes the same call without the bits, with the caller's rights.
 */
#ifndef BELLJAR_MODES_H
#define BELLJAR_MODES_H

#include <sys/stat.h>

#include "caller.h"

#define SETID_BITS 06000u
/* The headers of Debian 12 lack it; the number is the same on every architecture. */
#define NUMBER_FCHMODAT2 452

/* modes.c */
struct place mode_place(const struct seccomp_data *data);
/* What the process that answers has of its own in /proc/self. No call may change it. */
struct own_process {
  int files;           /* the folder of its open files */
  struct stat program; /* Belljar's own, on the host */
};
bool look_at_self(int proc, struct own_process *own);
/* Makes the call without SETID_BITS. The caller's rights are taken before. Returns 0 or an errno. */
int change_mode(const struct call *call, const struct own_process *own);

#endif
