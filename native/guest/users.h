/* The sandbox's own /etc/passwd and /etc/group, read without the C library's name services (they load modules). */
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

/* Finds a user by name, or by number in digits; NULL means `user`. `root` and `user` are known without a file. May block on I/O. */
bool find_user(const char *name, struct user *user);
/* Takes the user's ids and, unless it is root, every capability but the guest's mark away. In single-id mode the ids stay. False with errno set. */
bool become_user(const struct user *user, bool single_id);

/* Remembers the last names that were asked for, since a folder's entries mostly share one owner. */
struct name_cache {
  struct {
    bool used;
    uint32_t id;
    char name[USER_NAME_BYTES];
  } users[4], groups[4];
  size_t next_user;
  size_t next_group;
};

/* The name, or the number in digits where the files know none. */
const char *name_of_user(struct name_cache *cache, uint32_t uid);
const char *name_of_group(struct name_cache *cache, uint32_t gid);

#endif
