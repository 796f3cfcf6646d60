/* How much room of the host a storage pool takes, and may take. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "jail.h"
#include "pool.h"

/* A pool has sizes of whole blocks, and only a change of this part of it is made: a smaller one moves data, and the next differs again. */
#define UNIT ((uint64_t)1 << 20)
#define PART_WORTH_IT 8

/* Linux 6.13. */
#ifndef BTRFS_IOC_SUBVOL_SYNC_WAIT
struct btrfs_ioctl_subvol_wait {
  __u64 subvolid;
  __u32 mode, count;
};
#define BTRFS_SUBVOL_SYNC_WAIT_FOR_QUEUED 1
#define BTRFS_IOC_SUBVOL_SYNC_WAIT _IOW(BTRFS_IOCTL_MAGIC, 65, struct btrfs_ioctl_subvol_wait)
#endif

/* A thread of the kernel frees them after they are gone by name, and is woken by a commit. */
static void await_removed_subvolumes(int folder) {
  struct btrfs_ioctl_subvol_wait wait = {.mode = BTRFS_SUBVOL_SYNC_WAIT_FOR_QUEUED};
  if (ioctl(folder, BTRFS_IOC_SYNC) == 0) ioctl(folder, BTRFS_IOC_SUBVOL_SYNC_WAIT, &wait);
}

/* The kernel gives back much by itself, but not what was freed a moment before the pool is unmounted. */
void trim_pool(const char *folder) {
  struct fstrim_range all = {.len = UINT64_MAX};
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  await_removed_subvolumes(fd);
  ioctl(fd, FITRIM, &all); /* a host that cannot keeps its blocks */
  close(fd);
}

static bool resize(int folder, uint64_t bytes) {
  struct btrfs_ioctl_vol_args args = {.fd = 0};
  snprintf(args.name, sizeof args.name, "1:%llu", (unsigned long long)bytes);
  return ioctl(folder, BTRFS_IOC_RESIZE, &args) == 0;
}

static bool size_device(const struct pool *pool, int device, uint64_t bytes) {
  return truncate(pool->image, (off_t)bytes) == 0 && ioctl(device, LOOP_SET_CAPACITY, 0) == 0;
}

/* The file is never smaller than the file system in it: it grows first, and shrinks last. */
static bool change_size(const struct pool *pool, int folder, uint64_t bytes) {
  char path[DEVICE_PATH_MAX];
  struct statfs status;
  if (fstatfs(folder, &status) < 0) return false;
  uint64_t now = (uint64_t)status.f_blocks * (uint64_t)status.f_bsize, wanted = bytes / UNIT * UNIT;
  if ((wanted > now ? wanted - now : now - wanted) < now / PART_WORTH_IT) return true;
  int device = find_pool_device(pool, path);
  if (device < 0) return false;
  bool changed = wanted > now ? size_device(pool, device, wanted) && resize(folder, wanted) : resize(folder, wanted) && size_device(pool, device, wanted);
  int error = errno;
  close(device);
  errno = error;
  return changed;
}

bool fit_pool(const struct pool *pool, uint64_t bytes) {
  int turn = take_pool_turn(pool);
  int folder = open(pool->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool fits = folder >= 0 && change_size(pool, folder, bytes);
  int error = errno;
  if (folder >= 0) close(folder);
  close(turn);
  errno = error;
  return fits;
}
