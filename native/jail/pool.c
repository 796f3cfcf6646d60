/*
 * A home's storage pool, with quotas. The first process that needs it mounts it; later ones find it mounted. Each has a shared lock until it
 * ends, however it ends, and so has each keeper of a sandbox in it. When nobody has one, the caretaker unmounts the pool.
 */
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "jail.h"

/* The lock's descriptor, which the caller has open as well: so the lock stays the caller's when this process ends. */
#define LOCK_FD 3
#ifndef BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA
#define BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA 4 /* Linux 6.7 */
#endif

/* If the home lies on btrfs, its folder has that file system too, but not our quotas. */
bool is_pool_mounted(const char *folder) {
  char parent[PATH_MAX];
  struct statfs status;
  struct stat inner, outer;
  if (snprintf(parent, sizeof parent, "%s/..", folder) >= (int)sizeof parent) refuse("the path of the storage pool is too long");
  if (statfs(folder, &status) < 0 || stat(folder, &inner) < 0 || stat(parent, &outer) < 0) die("look at the storage pool");
  return status.f_type == BTRFS_SUPER_MAGIC && inner.st_dev != outer.st_dev;
}

int open_pool_lock(const char *folder) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s" POOL_LOCK, folder) >= (int)sizeof path) refuse("the path of the storage pool is too long");
  int lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) die("open the lock of the storage pool");
  return lock;
}

/* Not a lock of the image: its loop device keeps the file open, with all locks that were taken by that descriptor. */
int take_pool_turn(const struct pool *pool) {
  int turn = open_pool_lock(pool->folder);
  struct flock change = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = POOL_TURN, .l_len = 1};
  while (fcntl(turn, F_OFD_SETLKW, &change) < 0)
    if (errno != EINTR) die("wait for a turn to change the storage pool");
  return turn;
}

/* Simple quotas need no scan. Older kernels only have the other kind, which must first scan the whole file system. */
static void enable_quotas(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fchmod(fd, 0700) < 0) die("open the storage pool");
  struct btrfs_ioctl_quota_ctl_args simple = {.cmd = BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA};
  struct btrfs_ioctl_quota_ctl_args full = {.cmd = BTRFS_QUOTA_CTL_ENABLE};
  if (ioctl(fd, BTRFS_IOC_QUOTA_CTL, &simple) < 0) {
    if (ioctl(fd, BTRFS_IOC_QUOTA_CTL, &full) < 0) die("enable quotas in the storage pool");
    if (ioctl(fd, BTRFS_IOC_QUOTA_RESCAN_WAIT) < 0) die("count what the storage pool holds");
  }
  close(fd);
}

/* A device that has the image already is one whose file system is in use, though it is mounted here no more. A second device cannot be. */
static void mount_pool(const struct pool *pool) {
  char path[DEVICE_PATH_MAX];
  int device = find_pool_device(pool, path);
  if (device < 0) device = attach_pool_device(pool, path);
  if (mount(path, pool->folder, "btrfs", MS_NOSUID | MS_NODEV | MS_NOATIME, NULL) < 0) die("mount the storage pool");
  close(device);
  enable_quotas(pool->folder);
}

static int open_pool(const struct pool *pool, uint64_t bytes) {
  while (flock(LOCK_FD, LOCK_SH) < 0)
    if (errno != EINTR) die("lock the storage pool");
  int turn = take_pool_turn(pool);
  if (!is_pool_mounted(pool->folder)) mount_pool(pool);
  start_caretaker(pool, bytes);
  close(turn);
  return EXIT_SUCCESS;
}

static int tend_pool(const struct pool *pool, uint64_t bytes) {
  trim_pool(pool->folder);
  if (!fit_pool(pool, bytes) && errno != ENOSPC) die("change the size of the storage pool");
  return EXIT_SUCCESS;
}

static uint64_t parse_bytes(const char *text) {
  char *end;
  errno = 0;
  uint64_t bytes = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != 0 || bytes > BYTES_MAX) refuse("not a size of a storage pool");
  return bytes;
}

int pool_main(const char *work, char **argv) {
  struct pool pool = {.image = argv[0], .folder = argv[1]};
  uint64_t bytes = parse_bytes(argv[2]);
  if (strcmp(work, "open") == 0) return open_pool(&pool, bytes);
  if (!is_pool_mounted(pool.folder)) refuse("the storage pool is not mounted");
  if (strcmp(work, "tend") == 0) return tend_pool(&pool, bytes);
  if (strcmp(work, "holds") != 0) refuse("no such work on a storage pool");
  print_pool(pool.folder);
  return EXIT_SUCCESS;
}

/* The descriptor stays open. Without the mount, the layers would seem to be gone. */
void hold_pool(const struct spec *spec) {
  char layers[PATH_MAX];
  if (spec->storage != STORAGE_BTRFS) return;
  if (snprintf(layers, sizeof layers, "%s", spec->layers) >= (int)sizeof layers) refuse("the path of the layers is too long");
  const char *folder = dirname(layers);
  int lock = open_pool_lock(folder);
  while (flock(lock, LOCK_SH) < 0)
    if (errno != EINTR) die("lock the storage pool");
  if (!is_pool_mounted(folder)) refuse("the storage pool is not mounted");
}
