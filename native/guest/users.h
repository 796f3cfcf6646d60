/* Reads the sandbox's /etc/passwd and /etc/group. The C library's own readers are not used, because they load modules. */
#ifndef BELLJAR_USERS_H
#define BELLJAR_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define USER_NAME_BYTES 64u
#define USER_GROUPS_MAX 64u
/* Above are ids that no sandbox has, and the guest's own group (rights.h). */
#define USER_ID_MAX 65534u

struct guest_options;

struct user {
  uid_t uid;
  gid_t gid;
  char name[USER_NAME_BYTES];
  char home[1024];
  char shell[256];
  gid_t groups[USER_GROUPS_MAX];
  size_t group_count;
};

/*
 * Finds a user by what an image may say: `name`, `uid`, `name:group` or `uid:gid`, in any mixture. Digits are an id, whatever accounts are called,
 * and need no account: without one the group is 0 and the home is /. `root` and `user` need no file. A named group is the only one. Returns NULL, or
 * a constant sentence that says why there is none. May block on I/O.
 */
const char *find_user(const char *name, struct user *user);
/* Whoever runs what names nobody. */
const char *default_user(const struct guest_options *options);
/* Takes the user's ids. A user other than root keeps no capability but the guest's mark. In single-id mode nothing changes. False with errno set. */
bool become_user(const struct user *user, bool single_id);
/* Goes where commands start and relative paths begin: to `folder`, by default the workspace, or else to the user's home, or else to /. Called with the user's ids. */
bool enter_start_folder(const struct user *user, const char *folder);

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
