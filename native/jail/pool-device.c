/* The loop device under a storage pool. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"
#include "pool.h"

#define LOOP_TRIES 64
#define DEVICES "/sys/block"

static bool has_image(int device, const struct stat *image) {
  struct loop_info64 info;
  return ioctl(device, LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == image->st_ino && info.lo_device == image->st_dev;
}

/* -1: it is no loop device with this image. */
static int open_if_it_has(const char *name, const struct stat *image, char path[DEVICE_PATH_MAX]) {
  char used[DEVICE_PATH_MAX];
  if (strncmp(name, "loop", 4) != 0 || snprintf(used, sizeof used, DEVICES "/%s/loop", name) >= (int)sizeof used || access(used, F_OK) < 0) return -1;
  if (snprintf(path, DEVICE_PATH_MAX, "/dev/%s", name) >= DEVICE_PATH_MAX) return -1;
  int device = open(path, O_RDWR | O_CLOEXEC);
  if (device < 0 || has_image(device, image)) return device;
  close(device);
  return -1;
}

int find_pool_device(const struct pool *pool, char path[DEVICE_PATH_MAX]) {
  struct stat image;
  struct dirent *entry;
  int device = -1;
  if (stat(pool->image, &image) < 0) die("look at the storage pool's file");
  DIR *devices = opendir(DEVICES);
  while (devices != NULL && device < 0 && (entry = readdir(devices)) != NULL) device = open_if_it_has(entry->d_name, &image, path);
  if (devices != NULL) closedir(devices);
  return device;
}

/* The device detaches itself when the pool is unmounted. If another process takes the free device first, the next one is tried. */
int attach_pool_device(const struct pool *pool, char path[DEVICE_PATH_MAX]) {
  int image = open(pool->image, O_RDWR | O_CLOEXEC);
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (image < 0) die("open the storage pool's file");
  if (control < 0) die("open /dev/loop-control");
  for (int i = 0; i < LOOP_TRIES; i++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) die("find a free loop device");
    snprintf(path, DEVICE_PATH_MAX, "/dev/loop%d", number);
    int device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0) die("open a loop device");
    struct loop_config config = {.fd = (uint32_t)image, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO}};
    if (ioctl(device, LOOP_CONFIGURE, &config) == 0) {
      close(control);
      close(image);
      return device;
    }
    if (errno != EBUSY) die("set up a loop device");
    close(device);
  }
  refuse("every loop device is taken");
}
