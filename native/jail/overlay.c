/* Overlays, from layers that lie on the stage. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "stage.h"

#define OPTIONS_MAX 4096
#define SHORT_PATH 64

/*
 * False: the kernel does not take layers by descriptor. Such a kernel is older than Linux 6.13, and does not know the parameter (EINVAL) or
 * the call (ENOSYS). An empty folder of ours is a layer that no kernel refuses for another reason.
 */
static bool takes_layer_descriptors(void) {
  int layer = open_on_stage(EMPTY_FOLDER);
  int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
  if (fs < 0 && errno != ENOSYS) die("open an overlay");
  bool takes = fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_SET_FD, "lowerdir+", NULL, layer) == 0;
  if (!takes && errno != ENOSYS && errno != EINVAL) die("try a layer");
  if (fs >= 0) close(fs);
  close(layer);
  return takes;
}

static void set_flag(int fs, const char *flag) {
  if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, flag, NULL, 0) < 0) die_at("configure an overlay:", flag);
}

static bool set_layer(int fs, const char *role, const char *path) {
  int layer = open_on_stage(path);
  bool is_set = syscall(SYS_fsconfig, fs, FSCONFIG_SET_FD, role, NULL, layer) == 0;
  int error = errno;
  close(layer);
  errno = error;
  return is_set;
}

static void add_layer(int fs, const char *role, const char *path) {
  if (!set_layer(fs, role, path)) die_at("add a layer:", path);
}

/* False: the kernel does not take layers by descriptor. Most do, so the question is asked only when one was refused. */
static bool add_first_layer(int fs, const char *path) {
  if (set_layer(fs, "lowerdir+", path)) return true;
  int error = errno;
  if ((error == ENOSYS || error == EINVAL) && !takes_layer_descriptors()) return false;
  errno = error;
  die_at("add a layer:", path);
}

static void add_writable_layer(int fs, const char *folder) {
  char path[SHORT_PATH];
  set_flag(fs, "volatile");
  snprintf(path, sizeof path, "%s/upper", folder);
  add_layer(fs, "upperdir", path);
  snprintf(path, sizeof path, "%s/work", folder);
  add_layer(fs, "workdir", path);
}

static bool add_lower_layers(int fs, const struct overlay *overlay) {
  char name[LOWER_NAME_MAX];
  for (unsigned i = 0; i < overlay->lowers->count; i++) {
    name_lower(overlay->name, overlay->lowers->numbers[i], name);
    if (i > 0) add_layer(fs, "lowerdir+", name);
    else if (!add_first_layer(fs, name)) return false;
  }
  /* An overlay without an upper layer needs two lower layers. */
  if (overlay->writable == NULL) add_layer(fs, "lowerdir+", EMPTY_FOLDER);
  return true;
}

int make_overlay(const struct overlay *overlay) {
  int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
  if (fs < 0 && errno == ENOSYS) return -1;
  if (fs < 0) die("open an overlay");
  if (!add_lower_layers(fs, overlay)) {
    close(fs);
    return -1;
  }
  set_flag(fs, "userxattr");
  if (overlay->writable != NULL) add_writable_layer(fs, overlay->writable);
  if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) die_at("make the overlay of", overlay->target);
  unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (overlay->writable == NULL ? (unsigned)MOUNT_ATTR_RDONLY : 0u);
  int tree = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
  if (tree < 0) die_at("mount the overlay of", overlay->target);
  close(fs);
  return tree;
}

/* Layers have short names: the options must fit into one page. */
static void write_options(const struct overlay *overlay, char options[OPTIONS_MAX]) {
  int length = overlay->writable == NULL
                   ? snprintf(options, OPTIONS_MAX, "userxattr,lowerdir=")
                   : snprintf(options, OPTIONS_MAX, "userxattr,volatile,upperdir=%s/upper,workdir=%s/work,lowerdir=", overlay->writable, overlay->writable);
  size_t end = (size_t)length;
  for (unsigned i = 0; i < overlay->lowers->count && end < OPTIONS_MAX; i++) {
    char name[LOWER_NAME_MAX];
    name_lower(overlay->name, overlay->lowers->numbers[i], name);
    end += (size_t)snprintf(options + end, OPTIONS_MAX - end, "%s%s", i == 0 ? "" : ":", name);
  }
  if (overlay->writable == NULL && end < OPTIONS_MAX) end += (size_t)snprintf(options + end, OPTIONS_MAX - end, ":" EMPTY_FOLDER);
  if (end >= OPTIONS_MAX) refuse("too many layers for this kernel; Linux 6.13 and newer take more");
}

static void mount_by_options(const struct overlay *overlay, int target) {
  char path[SHORT_PATH], options[OPTIONS_MAX];
  write_options(overlay, options);
  snprintf(path, sizeof path, PROC "/self/fd/%d", target);
  unsigned long flags = MS_NOSUID | MS_NODEV | (overlay->writable == NULL ? (unsigned long)MS_RDONLY : 0ul);
  if (mount("overlay", path, "overlay", flags, options) < 0) die_at("mount overlay on", overlay->target);
  close(target);
}

void mount_overlay(const struct overlay *overlay, int target) {
  int tree = make_overlay(overlay);
  if (tree >= 0) attach_mount(tree, target, overlay->target);
  else mount_by_options(overlay, target);
}
