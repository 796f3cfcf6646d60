/*
 * Folders and links of the sandbox's root beside the template's: where a workspace lies, and what leads to it. In an earlier run the sandbox
 * may have put links in their place, so no link is followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"

#define FOLDER_MODE 0755
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Opens a folder of `parent`. A file or a link that stands in its place is taken away. */
static int need_folder(const struct root_path *path, int parent, const char *name) {
  int fd = openat(parent, name, FOLDER_FLAGS);
  if (fd >= 0) return fd;
  if ((errno == ENOTDIR || errno == ELOOP) && unlinkat(parent, name, 0) < 0) die_at("clear the way to", path->target);
  if (mkdirat(parent, name, FOLDER_MODE) < 0) die_at("make", path->target);
  if (!path->single_id && fchownat(parent, name, 0, 0, AT_SYMLINK_NOFOLLOW) < 0) die_at("set the owner of", path->target);
  fd = openat(parent, name, FOLDER_FLAGS);
  if (fd < 0) die_at("open", path->target);
  return fd;
}

/* Opens the folder that holds the target, and copies the target's own name. */
static int need_parent(const struct root_path *path, char name[NAME_MAX + 1]) {
  int parent = fcntl(path->root, F_DUPFD_CLOEXEC, 0);
  if (parent < 0) die_at("open the root for", path->target);
  for (const char *rest = path->target + 1;;) {
    size_t length = strcspn(rest, "/");
    snprintf(name, NAME_MAX + 1, "%.*s", (int)length, rest);
    if (rest[length] == 0) return parent;
    int folder = need_folder(path, parent, name);
    close(parent);
    parent = folder;
    rest += length + 1;
  }
}

void make_root_folder(const struct root_path *path) {
  char name[NAME_MAX + 1];
  int parent = need_parent(path, name);
  close(need_folder(path, parent, name));
  close(parent);
}

static bool leads_to(int parent, const char *name, const char *text) {
  char now[PATH_MAX];
  ssize_t length = readlinkat(parent, name, now, sizeof now);
  return length >= 0 && (size_t)length == strlen(text) && memcmp(now, text, (size_t)length) == 0;
}

/* A folder that holds something stays. */
static bool clear_name(int parent, const char *name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return true;
  return errno == EISDIR && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

void make_root_link(const struct root_path *path, const char *text) {
  char name[NAME_MAX + 1];
  int parent = need_parent(path, name);
  if (!leads_to(parent, name, text)) {
    bool is_free = clear_name(parent, name);
    if (!is_free && errno != ENOTEMPTY) die_at("clear the way to", path->target);
    if (is_free && symlinkat(text, parent, name) < 0) die_at("link", path->target);
  }
  close(parent);
}
