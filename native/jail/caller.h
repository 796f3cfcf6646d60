/* The call of another process, which waits for its answer: who makes it, from where, and on which path. */
#ifndef BELLJAR_CALLER_H
#define BELLJAR_CALLER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
/* Which arguments of a call name a file, from 0. NO_ARGUMENT: the call has none such. */
#define NO_ARGUMENT (-1)
struct place {
  int folder, path; /* without a path, `folder` is the file itself */
};

/* A descriptor is -1 if there is none. `folder` is the caller's /proc/TID, which no other process can get. */
struct call {
  const struct seccomp_data *data;
  int folder;
  int root, cwd;   /* the caller's */
  int file;        /* the open file that the call names by its number */
  char path[4200]; /* the path with its NUL; without one, empty */
  struct credentials credentials;
};
/* Reads each thing once. Returns 0 or an errno. Close the call in both cases. */
int read_caller(int proc, const struct seccomp_notif *told, struct place place, struct call *call);
void close_caller(struct call *call);
/* Takes the caller's root, folder and rights, for the rest of this process's life. Returns 0 or an errno. */
int become_caller(const struct call *call, bool single_id);

#endif
