/*
 * A sandbox that can write into a folder of the host makes no setuid or setgid file there. Its calls of the chmod family with such bits
 * are told to a listener (seccomp.c). A small process serves it: it makes the same call without the bits, with the caller's rights.
 */
#ifndef BELLJAR_MODES_H
#define BELLJAR_MODES_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define SETID_BITS 06000u
/* The headers of Debian 12 lack it; the number is the same on every architecture. */
#define NUMBER_FCHMODAT2 452

/* modes.c */
/* Starts the process that serves `listener`, and closes the listener here. If it cannot start or dies, the calls fail with ENOSYS. */
void start_modes(int listener, bool single_id);

/* credentials.c */
#define CREDENTIAL_GROUPS_MAX 1024u
struct credentials {
  uint32_t uid, gid; /* those that the file system asks for */
  gid_t groups[CREDENTIAL_GROUPS_MAX];
  unsigned group_count;
  uint64_t effective; /* capabilities */
};
/* Reads the text of /proc/TID/status. False: a line is missing, or the process has more groups than CREDENTIAL_GROUPS_MAX. */
bool parse_credentials(const char *status, struct credentials *credentials);

/* caller.c */
/* The call of another process, taken over: `folder` is its /proc/TID, which no other process can get. */
struct mode_call {
  const struct seccomp_data *data;
  int folder;
  int root, cwd;   /* the caller's */
  int file;        /* the open file that the call names by its number, or -1 */
  char path[4200]; /* the path with its NUL; of fchmod, empty */
  struct credentials credentials;
};
/* Reads each thing once. Returns 0 or an errno. */
int read_caller(int proc, const struct seccomp_notif *told, struct mode_call *call);
/* Takes the caller's root, folder and rights, for the rest of this process's life. Returns 0 or an errno. */
int become_caller(const struct mode_call *call, bool single_id);
/* What the process that answers has of its own in /proc/self. No call may change it. */
struct own_process {
  int files;           /* the folder of its open files */
  struct stat program; /* Belljar's own, on the host */
};
bool look_at_self(int proc, struct own_process *own);
/* Makes the call without SETID_BITS. Returns 0 or an errno. */
int change_mode(const struct mode_call *call, const struct own_process *own);

#endif
