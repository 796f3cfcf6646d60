/* The sandbox's file system: an ordered list of steps, walked by one loop. Runs as the sandbox's first process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "stage.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* A folder that every Linux has. The stage covers it for a moment, in the sandbox's own mount namespace. */
#define STAGE "/tmp"
#define SHORT_PATH 64
/* The whole machine has one bound of terminals (kernel.pty.max). */
#define TERMINALS "max=64,"

struct build {
  const struct spec *spec;
  struct root_sources given;
  int root; /* the new root; -1 before the first overlay */
};

static bool is_mount(int target) {
  struct statx seen;
  return statx(target, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE, &seen) == 0 && (seen.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool make_folder(const char *path, mode_t mode) {
  if (mkdir(path, mode) == 0) return true;
  if (errno != EEXIST) die_at("make", path);
  return false;
}

int open_in_root(int root, const char *target) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  int fd = (int)syscall(SYS_openat2, root, target, &how, sizeof how);
  if (fd < 0) die_at("find", target);
  return fd;
}

static int need_target(const struct build *build, const char *target) { return open_in_root(build->root, target); }

void attach_mount(int tree, int target, const char *name) {
  if (syscall(SYS_move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) die_at("mount on", name);
  close(tree);
  close(target);
}

/* mount(2) on a descriptor. The working folder is the stage, which has a /proc of its own. */
static void mount_on(const char *type, int target, const char *name, unsigned long flags, const char *options) {
  char path[SHORT_PATH];
  snprintf(path, sizeof path, PROC "/self/fd/%d", target);
  if (mount(type, path, type, flags, options) < 0) {
    int error = errno;
    char action[SHORT_PATH];
    snprintf(action, sizeof action, "mount %s on", type);
    errno = error;
    die_at(action, name);
  }
  close(target);
}

static void give_to(const struct build *build, const char *path, uint32_t owner) {
  if (build->spec->id_map != ID_MAP_SINGLE && lchown(path, owner, owner) < 0) die_at("set the owner of", path);
}

/* The mark of a volatile overlay (storage.c). Layers on a disk were made ready outside. */
static void settle_held_layer(const struct step *step) {
  char path[SHORT_PATH];
  snprintf(path, sizeof path, STORAGE "/%.32s", step->name);
  int layer = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (layer < 0 && errno == ENOENT) return;
  if (layer < 0 || !remove_tree(layer, "work")) die("make what the sandbox wrote ready for another run");
  close(layer);
}

/* The upper and the work folder lie on one mount, so that a copy-up can rename between them. */
static void make_writable_layer(const struct build *build, const struct step *step) {
  static const char *const PARTS[] = {"", "/upper", "/work"};
  if (build->spec->storage == STORAGE_TMPFS && build->spec->has_layers) settle_held_layer(step);
  for (size_t i = 0; i < COUNT(PARTS); i++) {
    char path[SHORT_PATH];
    snprintf(path, sizeof path, STORAGE "/%.32s%s", step->name, PARTS[i]);
    if (make_folder(path, i == 1 ? (mode_t)step->mode : 0700)) give_to(build, path, i == 1 ? step->owner : 0);
  }
}

/* The first overlay is the root. */
static int open_overlay_target(const struct build *build, const struct step *step) {
  return build->root < 0 ? open_on_stage(NEW_ROOT) : need_target(build, step->target);
}

static void note_root(struct build *build) {
  if (build->root < 0) build->root = open(NEW_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (build->root < 0) die("open the new root");
}

static void mount_writable(struct build *build, const struct step *step) {
  char writable[SHORT_PATH];
  make_writable_layer(build, step);
  snprintf(writable, sizeof writable, STORAGE "/%.32s", step->name);
  struct lowers lowers;
  take_sources(&lowers, step);
  struct overlay overlay = {.target = step->target, .writable = writable, .name = step->name, .lowers = &lowers};
  mount_overlay(&overlay, open_overlay_target(build, step));
  note_root(build);
}

static void mount_bind(const struct build *build, const struct step *step) {
  attach_mount(build->given.sources[step->first_source], need_target(build, step->target), step->target);
}

int clone_mount(int at, const char *path, unsigned flags) {
  int fd = (int)syscall(SYS_open_tree, at, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
  if (fd < 0) die_at("open", path);
  return fd;
}

void make_read_only(int tree, const char *name) {
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) die_at("make read-only:", name);
}

static const struct {
  const char *name, *target;
} DEVICE_LINKS[] = {
    {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

static int open_within(int folder, const char *name) {
  int fd = openat(folder, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) die_at("open /dev entry", name);
  return fd;
}

static void bind_device(int folder, const char *name) {
  char host[SHORT_PATH];
  snprintf(host, sizeof host, "/dev/%s", name);
  int file = openat(folder, name, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0666);
  if (file < 0) die_at("make /dev entry", name);
  close(file);
  attach_mount(clone_mount(AT_FDCWD, host, 0), open_within(folder, name), host);
}

/* A keeper that is root has made the nodes. Otherwise the host's nodes are bound. */
static int mount_nodes(const struct build *build, const struct step *step) {
  if (build->given.devices >= 0) {
    attach_mount(build->given.devices, need_target(build, step->target), step->target);
    return need_target(build, step->target);
  }
  mount_on("tmpfs", need_target(build, step->target), step->target, MS_NOSUID | MS_NOEXEC, "size=64k,mode=755");
  int folder = need_target(build, step->target);
  for (size_t i = 0; i < DEVICE_COUNT; i++) bind_device(folder, DEVICES[i].name);
  return folder;
}

static void mount_devices(const struct build *build, const struct step *step) {
  int folder = mount_nodes(build, step);
  for (size_t i = 0; i < COUNT(DEVICE_LINKS); i++)
    if (symlinkat(DEVICE_LINKS[i].target, folder, DEVICE_LINKS[i].name) < 0) die_at("link /dev entry", DEVICE_LINKS[i].name);
  if (mkdirat(folder, "pts", 0755) < 0 || mkdirat(folder, "shm", 01777) < 0) die("make folders in /dev");
  const char *terminal_group = build->spec->id_map == ID_MAP_SINGLE ? TERMINALS "newinstance,ptmxmode=0666,mode=620" : TERMINALS "newinstance,ptmxmode=0666,mode=620,gid=5";
  mount_on("devpts", open_within(folder, "pts"), "/dev/pts", MS_NOSUID | MS_NOEXEC, terminal_group);
  char options[SHORT_PATH];
  snprintf(options, sizeof options, "size=%llu,mode=1777", (unsigned long long)step->size);
  mount_on("tmpfs", open_within(folder, "shm"), "/dev/shm", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
  make_read_only(folder, step->target);
  close(folder);
}

static void mount_proc(const struct build *build, const struct step *step) {
  attach_mount(open_on_stage(COVERED_PROC), need_target(build, step->target), step->target);
}

static void hold(const struct build *build, const struct step *step) {
  int target = need_target(build, step->target);
  attach_mount(clone_mount(target, "", AT_EMPTY_PATH), target, step->target);
}

static void mount_view(const struct build *build, const struct step *step) {
  struct lowers lowers;
  take_sources(&lowers, step);
  struct overlay overlay = {.target = step->target, .name = step->name, .lowers = &lowers};
  mount_overlay(&overlay, need_target(build, step->target));
}

static void remount_read_only(const struct build *build, const struct step *step) {
  int target = need_target(build, step->target);
  int tree = clone_mount(target, "", AT_EMPTY_PATH);
  make_read_only(tree, step->target);
  attach_mount(tree, target, step->target);
}

static struct root_path root_path_of(const struct build *build, const struct step *step) {
  return (struct root_path){.root = build->root, .single_id = build->spec->id_map == ID_MAP_SINGLE, .target = step->target};
}

static void walk(struct build *build, const struct step *step) {
  struct root_path path = root_path_of(build, step);
  switch (step->kind) {
    case SETUP_OVERLAY: mount_writable(build, step); return;
    case SETUP_BIND: mount_bind(build, step); return;
    case SETUP_PROC: mount_proc(build, step); return;
    case SETUP_DEVICES: mount_devices(build, step); return;
    case SETUP_HELD: hold(build, step); return;
    case SETUP_READ_ONLY: remount_read_only(build, step); return;
    case SETUP_VIEW: mount_view(build, step); return;
    case SETUP_FOLDER: make_root_folder(&path); return;
    case SETUP_LINK: make_root_link(&path, step->link); return;
  }
  refuse("a step of an unknown kind");
}

int open_on_stage(const char *path) {
  int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) die_at("open on the stage:", path);
  return fd;
}

/* A file system of its own, read-only: what covers a file for good keeps nothing else alive. */
static void make_empty(void) {
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  make_folder(EMPTY, 0755);
  if (mount("tmpfs", EMPTY, "tmpfs", flags, "size=4k,nr_inodes=4,mode=755") < 0) die("mount what covers files");
  make_folder(EMPTY_FOLDER, 0555);
  if (mknod(EMPTY_FILE, S_IFREG | 0444, 0) < 0) die("make an empty file on the stage");
  if (mount(NULL, EMPTY, NULL, MS_REMOUNT | MS_RDONLY | flags, NULL) < 0) die("make what covers files read-only");
}

static void mount_proc_on_stage(const char *name) {
  make_folder(name, 0755);
  if (mount("proc", name, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) die("mount /proc on the stage");
}

void make_stage(void) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) die("make the mounts private");
  umask(0);
  if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=700") < 0) die("mount the stage on " STAGE);
  if (chdir(STAGE) < 0) die("enter the stage");
  make_folder(NEW_ROOT, 0755);
  make_folder(STORAGE, 0700);
  make_empty();
  mount_proc_on_stage(PROC);
  mount_proc_on_stage(COVERED_PROC);
  cover_proc(open_on_stage(COVERED_PROC), EMPTY_FILE, EMPTY_FOLDER);
}

static int open_held_layer(const struct source *source) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, STORAGE "%s", source->path) >= (int)sizeof path) refuse("the path of a layer is too long");
  int layer = clone_mount(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  make_read_only(layer, source->path);
  return layer;
}

/* Layers are named by numbers on a tmpfs of our own, so that mountinfo inside shows no path of the host. */
static void place_layers(const struct spec *spec, const int *sources) {
  for (unsigned i = 0; i < spec->step_count; i++) {
    if (spec->steps[i].kind != SETUP_OVERLAY && spec->steps[i].kind != SETUP_VIEW) continue;
    for (unsigned n = 0; n < spec->steps[i].source_count; n++) {
      char name[16];
      unsigned at = spec->steps[i].first_source + n;
      snprintf(name, sizeof name, "%u", at);
      make_folder(name, 0700);
      attach_mount(spec->sources[at].ids == IDS_HELD ? open_held_layer(&spec->sources[at]) : sources[at], open_on_stage(name), "the stage");
    }
  }
}

static void enter(const char *root) {
  if (chdir(root) < 0) die("enter the new root");
  if (syscall(SYS_pivot_root, ".", ".") < 0) die("change the root");
  if (umount2(".", MNT_DETACH) < 0) die("let go of the old root");
  if (chdir("/") < 0) die("enter the new root");
}

void enter_stage(void) { enter("."); }

int copy_stage(void) { return clone_mount(AT_FDCWD, ".", AT_RECURSIVE); }

/* An unbindable mount is left out of copies. */
static void set_propagation(const char *name, unsigned long propagation) {
  if (mount(NULL, name, NULL, propagation, NULL) < 0) die_at("set how it is copied:", name);
}

/* The sandbox's own /proc has a mount for each entry that it does not show, and moves to the new root. */
static int copy_first_stage(void) {
  set_propagation(COVERED_PROC, MS_UNBINDABLE);
  int stage = copy_stage();
  set_propagation(COVERED_PROC, MS_PRIVATE);
  return stage;
}

static void enter_root(const struct build *build) {
  if (build->root < 0) refuse("no step makes the root");
  close(build->root);
  enter(NEW_ROOT);
  umask(022);
}

int build_root(const struct spec *spec, struct root_sources given) {
  attach_mount(given.layers, open_on_stage(STORAGE), "the stage");
  place_layers(spec, given.sources);
  int stage = spec->storage == STORAGE_BTRFS ? -1 : copy_first_stage();
  struct build build = {.spec = spec, .given = given, .root = -1};
  for (unsigned i = 0; i < spec->step_count; i++) walk(&build, &spec->steps[i]);
  enter_root(&build);
  return stage;
}

/* ---- a root that takes the place of another one ---- */

bool is_moved(const struct step *step) {
  switch (step->kind) {
    case SETUP_OVERLAY:
    case SETUP_BIND:
    case SETUP_PROC:
    case SETUP_DEVICES:
    case SETUP_VIEW: return true;
    case SETUP_HELD:
    case SETUP_READ_ONLY:
    case SETUP_FOLDER:
    case SETUP_LINK: return false;
  }
  return false;
}

static bool is_mounted(const struct build *build, const struct step *step) {
  int target = need_target(build, step->target);
  bool mounted = is_mount(target);
  close(target);
  return mounted;
}

/* What lies on a mount that was moved has come along with it. */
static void renew(struct build *build, const struct step *step, const struct renewed *renewed) {
  if (renewed->overlay >= 0) {
    attach_mount(renewed->overlay, open_overlay_target(build, step), step->target);
    note_root(build);
  } else if (is_moved(step)) {
    if (is_mounted(build, step)) close(renewed->old);
    else attach_mount(renewed->old, need_target(build, step->target), step->target);
  } else if (step->kind == SETUP_HELD) {
    hold(build, step);
  } else if (step->kind == SETUP_READ_ONLY && !is_mounted(build, step)) {
    remount_read_only(build, step);
  }
}

void renew_root(const struct spec *spec, const struct renewed renewed[STEPS_MAX]) {
  struct build build = {.spec = spec, .root = -1};
  for (unsigned i = 0; i < spec->step_count; i++) renew(&build, &spec->steps[i], &renewed[i]);
  enter_root(&build);
  /* The stage lay over the old root, and was the one that went. */
  if (umount2(".", MNT_DETACH) < 0) die("let go of the old root");
}
