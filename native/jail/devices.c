/* The device nodes of one sandbox. Locks and watches on the host's own nodes would affect other users of the machine. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "jail.h"

#define DEVICE_MODE 0666
#define NAME_MAX_TEXT 16

/* Numbers from the kernel's documentation (devices.txt). No hardware stands behind these nodes. */
const struct device DEVICES[DEVICE_COUNT] = {
    {"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
};

static void set_text(int fs, const char *key, const char *value) {
  if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0) < 0) die("configure the sandbox's /dev");
}

static void set_owner(int fs, const char *key, uint32_t owner) {
  char text[NAME_MAX_TEXT];
  snprintf(text, sizeof text, "%u", owner);
  set_text(fs, key, text);
}

static void make_node(int folder, const struct device *device, uint32_t owner) {
  bool made = mknodat(folder, device->name, S_IFCHR | DEVICE_MODE, makedev(device->major, device->minor)) == 0 &&
              fchmodat(folder, device->name, DEVICE_MODE, 0) == 0 && fchownat(folder, device->name, owner, owner, AT_SYMLINK_NOFOLLOW) == 0;
  if (made) return;
  int error = errno;
  char step[64];
  snprintf(step, sizeof step, "make the sandbox's own /dev/%s", device->name);
  die_with(error, step);
}

/* Nodes on a file system of a user namespace cannot be opened. This file system is made in the initial namespace. */
int open_devices(uint32_t owner) {
  int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (fs < 0) die("open a file system for the sandbox's /dev");
  set_text(fs, "size", "64k");
  set_text(fs, "mode", "755");
  set_owner(fs, "uid", owner);
  set_owner(fs, "gid", owner);
  if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) die("make the sandbox's /dev");
  int mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  if (mount < 0) die("mount the sandbox's /dev");
  close(fs);
  for (size_t i = 0; i < DEVICE_COUNT; i++) make_node(mount, &DEVICES[i], owner);
  return mount;
}
