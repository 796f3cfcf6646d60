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

/* Takes the limit of a subvolume away. */
#define NO_LIMIT UINT64_MAX

struct location {
  int parent;
  char name[NAME_MAX + 1];
};

static bool open_location(const char *path, struct location *location) {
  location->parent = -1;
  char parent[PATH_MAX], last[PATH_MAX];
  if (snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent) return false;
  memcpy(last, parent, sizeof last);
  if (snprintf(location->name, sizeof location->name, "%s", basename(last)) >= (int)sizeof location->name) return false;
  location->parent = open(dirname(parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return location->parent >= 0;
}

bool make_subvolume(const char *path) {
  struct location location;
  struct btrfs_ioctl_vol_args args = {.fd = 0};
  if (!open_location(path, &location)) return false;
  memcpy(args.name, location.name, strlen(location.name) + 1);
  bool made = ioctl(location.parent, BTRFS_IOC_SUBVOL_CREATE, &args) == 0;
  int error = errno;
  close(location.parent);
  errno = error;
  return made && chown(path, CANONICAL_FIRST_ID, CANONICAL_FIRST_ID) == 0;
}

bool clone_subvolume(const char *from, const char *to, bool read_only) {
  struct location location;
  struct btrfs_ioctl_vol_args_v2 args = {.flags = read_only ? BTRFS_SUBVOL_RDONLY : 0};
  int source = open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (source < 0) return false;
  args.fd = source;
  bool made = open_location(to, &location);
  if (made) {
    memcpy(args.name, location.name, strlen(location.name) + 1);
    made = ioctl(location.parent, BTRFS_IOC_SNAP_CREATE_V2, &args) == 0;
  }
  int error = errno;
  if (location.parent >= 0) close(location.parent);
  close(source);
  errno = error;
  return made;
}

bool remove_subvolume(const char *path) {
  struct location location;
  struct btrfs_ioctl_vol_args args = {.fd = 0};
  if (!open_location(path, &location)) return errno == ENOENT;
  memcpy(args.name, location.name, strlen(location.name) + 1);
  bool removed = ioctl(location.parent, BTRFS_IOC_SNAP_DESTROY, &args) == 0 || errno == ENOENT;
  int error = errno;
  close(location.parent);
  errno = error;
  return removed;
}

/* Nobody but Belljar writes into the folder above, so what lies there are the sandbox's layers. */
static int open_layers(const struct spec *spec) {
  int layers = open(spec->layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (layers < 0) die("open what the sandbox wrote");
  return layers;
}

static void set_limit(const struct spec *spec, uint64_t bytes) {
  if (spec->storage != STORAGE_BTRFS || spec->disk == 0) return;
  int layers = open_layers(spec);
  struct btrfs_ioctl_qgroup_limit_args limit = {.qgroupid = 0, .lim = {.flags = BTRFS_QGROUP_LIMIT_MAX_RFER, .max_rfer = bytes}};
  if (ioctl(layers, BTRFS_IOC_QGROUP_LIMIT, &limit) < 0) die("limit the sandbox's subvolume");
  close(layers);
}

void limit_layers(const struct spec *spec) { set_limit(spec, spec->disk); }

/* A sandbox that filled its disk can be started again: what a mount makes and removes is Belljar's own, and small. */
static void reuse_layers(const struct spec *spec) {
  set_limit(spec, NO_LIMIT);
  if (!settle_layers_as_owner(spec)) die("make what the sandbox wrote ready for another run");
}

void make_layers(const struct spec *spec) {
  if (spec->storage == STORAGE_TMPFS) return;
  if (spec->has_layers) {
    reuse_layers(spec);
    return;
  }
  if (spec->seed != NULL) {
    if (!clone_subvolume(spec->seed, spec->layers, false)) die("make the sandbox's subvolume from a frozen one");
    reuse_layers(spec);
    return;
  }
  if (spec->storage == STORAGE_BTRFS) {
    if (!make_subvolume(spec->layers)) die("make the sandbox's subvolume");
    return;
  }
  if (mkdir(spec->layers, 0700) < 0) die("make the folder of the writable layers");
  if (spec->id_map == ID_MAP_SLOT && chown(spec->layers, CANONICAL_FIRST_ID, CANONICAL_FIRST_ID) < 0) die("set the owner of the writable layers");
}

/*
 * A volatile overlay leaves a mark in its work folder, and no overlay is mounted where such a mark lies: after a crash of the host, some of
 * what was written last may not be on the disk, which everybody who stops a sandbox is told. So the next run takes the mark away, with the
 * work folder, however the run before it ended.
 */
bool settle_layers(const struct spec *spec) {
  int layers = open(spec->layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (layers < 0) return false;
  bool settled = true;
  for (unsigned i = 0; i < spec->step_count && settled; i++) {
    if (spec->steps[i].kind != SETUP_OVERLAY) continue;
    int layer = openat(layers, spec->steps[i].name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* What a sandbox wrote before it was put back is not there any more. */
    settled = layer >= 0 ? remove_tree(layer, "work") : errno == ENOENT;
    if (layer >= 0) close(layer);
  }
  close(layers);
  return settled;
}

bool beside_layers(const struct spec *spec, const char *suffix, char path[PATH_MAX]) {
  return snprintf(path, PATH_MAX, "%s%s", spec->layers, suffix) < PATH_MAX;
}

/* A job on layers that was killed may have left one beside it. */
static bool remove_subvolumes(const struct spec *spec) {
  static const char *const SUFFIXES[] = {LAYERS_NEW, LAYERS_GONE, ""};
  char path[PATH_MAX];
  bool removed = true;
  for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0] && removed; i++) removed = beside_layers(spec, SUFFIXES[i], path) && remove_subvolume(path);
  return removed;
}

bool remove_layers(const struct spec *spec) {
  if (spec->storage == STORAGE_BTRFS) return remove_subvolumes(spec);
  struct location location;
  if (!open_location(spec->layers, &location)) return errno == ENOENT;
  bool removed = remove_tree(location.parent, location.name);
  close(location.parent);
  return removed;
}
