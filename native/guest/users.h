/* Reads the sandbox's /etc/passwd and /etc/group. The C library's own readers are not used, because they load modules. */
#ifndef BELLJAR_USERS_H
#define BELLJAR_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define USER_NAME_BYTES 64u
#define USER_GROUPS_MAX 64u

struct user {
  uid_t uid;
  gid_t gid;
  char name[USER_NAME_BYTES];
  char home[1024];
  char shell[256];
  gid_t groups[USER_GROUPS_MAX];
  size_t group_count;
};

/* Finds a user by name or by uid in digits. NULL means `user`. `root` and `user` need no file. May block on I/O. */
bool find_user(const char *name, struct user *user);
/* Takes the user's ids. A user other than root keeps no capability but the guest's mark. In single-id mode nothing changes. False with errno set. */
bool become_user(const struct user *user, bool single_id);
/* Goes where commands start and relative paths begin: the workspace, or else the user's home, or else /. Called with the user's ids. */
bool enter_start_folder(const struct user *user);

/* Remembers the last names: the entries of a folder mostly share one owner. */
struct name_cache {
  struct {
    bool used;
    uint32_t id;
    char name[USER_NAME_BYTES];
  } users[4], groups[4];
  size_t next_user;
  size_t next_group;
};

/* The name of the id, or the id in digits if the files have no name for it. */
const char *name_of_user(struct name_cache *cache, uint32_t uid);
const char *name_of_group(struct name_cache *cache, uint32_t gid);

#endif
