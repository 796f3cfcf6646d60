/* The folders of the host that a sandbox is built from. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

/* The caller's right to the workspace was checked for this path. A link in the path could lead to another folder since. */
static int find_workspace(const char *path) {
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
  int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  if (fd < 0 && errno == ELOOP) refuse("the workspace's path has a link in it; name the folder by its real path");
  if (fd < 0) die_at("open", path);
  return fd;
}

/* The id map of the mount gives the sandbox the rights of this owner. */
static void check_owner(const struct spec *spec, int fd) {
  struct stat status;
  if (fstat(fd, &status) < 0) die("read the workspace's owner");
  if (status.st_uid != spec->workspace_uid || status.st_gid != spec->workspace_gid) refuse("the workspace's owner has changed; try again");
}

static int open_workspace_tree(const struct spec *spec, const char *path, bool is_mapped, unsigned flags) {
  int fd = find_workspace(path);
  if (is_mapped) check_owner(spec, fd);
  int tree = (int)syscall(SYS_open_tree, fd, "", flags | AT_EMPTY_PATH);
  int error = errno;
  close(fd);
  errno = error;
  return tree;
}

static void set_attributes(int tree, const struct source *source, int id_namespace, bool recursive) {
  bool is_mapped = id_namespace >= 0;
  struct mount_attr attributes = {
      .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (source->writable ? 0u : MOUNT_ATTR_RDONLY) | (is_mapped ? MOUNT_ATTR_IDMAP : 0u),
      .propagation = (uint64_t)MS_PRIVATE,
      .userns_fd = is_mapped ? (unsigned)id_namespace : 0u,
  };
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attributes, sizeof attributes) < 0)
    die_at("set the ids and flags of", source->path);
}

void map_layers(int tree, int id_namespace) {
  struct source layers = {.path = "the layers in memory", .writable = true};
  set_attributes(tree, &layers, id_namespace, false);
}

int open_source(const struct spec *spec, const struct source *source, int id_namespace, bool recursive) {
  bool is_mapped = id_namespace >= 0;
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | (recursive ? AT_RECURSIVE : 0u);
  int fd = source->ids == IDS_WORKSPACE ? open_workspace_tree(spec, source->path, is_mapped, flags) : (int)syscall(SYS_open_tree, AT_FDCWD, source->path, flags);
  if (fd < 0) die_at("open", source->path);
  set_attributes(fd, source, id_namespace, recursive);
  return fd;
}
