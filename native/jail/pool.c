/* Mounts a home's storage pool: a btrfs image on a loop device, with quotas. The first process mounts it; later ones find it mounted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "jail.h"

#define LOOP_TRIES 64
#ifndef BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA
#define BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA 4 /* Linux 6.7 */
#endif

/* If the home lies on btrfs, its folder has that file system too, but not our quotas. */
static bool is_mounted(const char *folder) {
  char parent[PATH_MAX];
  struct statfs status;
  struct stat inner, outer;
  if (snprintf(parent, sizeof parent, "%s/..", folder) >= (int)sizeof parent) refuse("the path of the storage pool is too long");
  if (statfs(folder, &status) < 0 || stat(folder, &inner) < 0 || stat(parent, &outer) < 0) die("look at the storage pool");
  return status.f_type == BTRFS_SUPER_MAGIC && inner.st_dev != outer.st_dev;
}

/* The device detaches itself when the pool is unmounted. If another process takes the free device first, the next one is tried. */
static int attach_loop(int image, char *path, size_t size) {
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) die("open /dev/loop-control");
  for (int i = 0; i < LOOP_TRIES; i++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) die("find a free loop device");
    snprintf(path, size, "/dev/loop%d", number);
    int device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0) die("open a loop device");
    struct loop_config config = {.fd = (uint32_t)image, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO}};
    if (ioctl(device, LOOP_CONFIGURE, &config) == 0) {
      close(control);
      return device;
    }
    if (errno != EBUSY) die("set up a loop device");
    close(device);
  }
  refuse("every loop device is taken");
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

int pool_main(const char *image_path, const char *folder) {
  int image = open(image_path, O_RDWR | O_CLOEXEC);
  if (image < 0) die("open the storage pool's file");
  if (flock(image, LOCK_EX) < 0) die("lock the storage pool's file");
  if (is_mounted(folder)) return EXIT_SUCCESS;
  char device_path[32];
  int device = attach_loop(image, device_path, sizeof device_path);
  if (mount(device_path, folder, "btrfs", MS_NOSUID | MS_NODEV | MS_NOATIME, NULL) < 0) die("mount the storage pool");
  close(device);
  enable_quotas(folder);
  return EXIT_SUCCESS;
}
