/* Where a sandbox's writable layers lie on the host. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"

struct location {
  int parent;
  char name[NAME_MAX + 1];
};

static bool open_location(const char *path, struct location *location) {
  char parent[PATH_MAX], last[PATH_MAX];
  if (snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent) return false;
  memcpy(last, parent, sizeof last);
  if (snprintf(location->name, sizeof location->name, "%s", basename(last)) >= (int)sizeof location->name) return false;
  location->parent = open(dirname(parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return location->parent >= 0;
}

static void make_subvolume(const struct spec *spec) {
  struct location location;
  struct btrfs_ioctl_vol_args args = {.fd = 0};
  if (!open_location(spec->layers, &location)) die("open the storage pool");
  memcpy(args.name, location.name, strlen(location.name) + 1);
  if (ioctl(location.parent, BTRFS_IOC_SUBVOL_CREATE, &args) < 0) die("make the sandbox's subvolume");
  int fd = openat(location.parent, location.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  close(location.parent);
  if (fd < 0) die("open the sandbox's subvolume");
  if (spec->disk != 0) {
    struct btrfs_ioctl_qgroup_limit_args limit = {.qgroupid = 0, .lim = {.flags = BTRFS_QGROUP_LIMIT_MAX_RFER, .max_rfer = spec->disk}};
    if (ioctl(fd, BTRFS_IOC_QGROUP_LIMIT, &limit) < 0) die("limit the sandbox's subvolume");
  }
  close(fd);
}

void make_layers(const struct spec *spec) {
  if (spec->storage == STORAGE_TMPFS) return;
  if (spec->storage == STORAGE_BTRFS) make_subvolume(spec);
  else if (mkdir(spec->layers, 0700) < 0) die("make the folder of the writable layers");
  if (spec->id_map == ID_MAP_SLOT && chown(spec->layers, CANONICAL_FIRST_ID, CANONICAL_FIRST_ID) < 0) die("set the owner of the writable layers");
}

bool remove_layers(const struct spec *spec) {
  struct location location;
  if (spec->storage == STORAGE_TMPFS) return true;
  if (!open_location(spec->layers, &location)) return errno == ENOENT;
  bool removed;
  if (spec->storage == STORAGE_BTRFS) {
    struct btrfs_ioctl_vol_args args = {.fd = 0};
    memcpy(args.name, location.name, strlen(location.name) + 1);
    removed = ioctl(location.parent, BTRFS_IOC_SNAP_DESTROY, &args) == 0 || errno == ENOENT;
  } else {
    removed = remove_tree(location.parent, location.name);
  }
  close(location.parent);
  return removed;
}
