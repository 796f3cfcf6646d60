#include "raise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "move-entries.h"
#include "stage.h"

/* What takes longer is killed. It needs some milliseconds. */
#define RAISE_SECONDS 10
#define SHORT_PATH 160
#define LOWEST_PRIORITY 19

/* One in each process. A failure takes back what it has done, as long as it can. */
static struct {
  const struct kept *kept;
  const struct raising *raising;
  int channel, stage, root;
  struct renewed renewed[STEPS_MAX];
  int closed[STEPS_MAX]; /* old mounts that are read-only now, or -1 */
  uint64_t steps;
  bool is_on_stage, is_final;
} work = {.stage = -1, .root = -1};

unsigned open_for_raise(int stage, int fds[RAISE_FDS]) {
  if (stage < 0) return 0;
  fds[0] = stage;
  fds[1] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  fds[2] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (fds[1] < 0 || fds[2] < 0) die("open the sandbox's namespaces");
  return RAISE_FDS;
}

/* ---- taking it back ---- */

static void set_writable(int mount) {
  struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
  syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

static void remove_new_folders(void) {
  char frozen[SHORT_PATH];
  snprintf(frozen, sizeof frozen, STORAGE "/" FROZEN_PREFIX "%s", work.raising->layer);
  int storage = open(STORAGE, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (storage >= 0) remove_tree(storage, NEXT);
  unlinkat(AT_FDCWD, frozen, AT_REMOVEDIR);
}

/* The keeper gets the stage again, as a detached copy. */
static void restore(void) {
  if (work.is_final) return;
  for (unsigned i = 0; i < STEPS_MAX; i++)
    if (work.closed[i] >= 0) set_writable(work.closed[i]);
  if (work.is_on_stage) remove_new_folders();
  int stage = work.is_on_stage ? (int)syscall(SYS_open_tree, AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE) : -1;
  if (work.is_on_stage && (stage < 0 || umount2(".", MNT_DETACH) < 0)) return;
  const uint64_t none = 0;
  if (send_word(work.channel, WORD_RAISED, &stage, work.is_on_stage ? 1 : 0)) write_whole(work.channel, &none, sizeof none);
  _exit(EXIT_SUCCESS);
}

/* ---- the old root ---- */

static void enter_namespaces(pid_t keeper) {
  const struct kept *kept = work.kept;
  if (setns(kept->user_namespace, CLONE_NEWUSER) < 0) die("join the sandbox's user namespace");
  if (setns(kept->mount_namespace, CLONE_NEWNS) < 0) die("join the sandbox's mount namespace");
  bool has_root = kept->spec->id_map != ID_MAP_SINGLE;
  if (has_root && (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)) die("become the sandbox's root");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != keeper) _exit(EXIT_FAILURE);
  work.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (work.root < 0) die("open the root");
}

static bool is_number(const char *name) { return name[0] >= '0' && name[0] <= '9'; }

/* What has ended, and was not waited for yet, counts too. */
static bool is_guest_alone(void) {
  int proc = openat(work.stage, PROC, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = proc < 0 ? NULL : fdopendir(proc);
  if (list == NULL) die("look at the processes");
  struct dirent *entry;
  bool is_alone = true;
  while (is_alone && (entry = readdir(list)) != NULL) is_alone = !is_number(entry->d_name) || strcmp(entry->d_name, "1") == 0;
  closedir(list);
  return is_alone;
}

static bool has_entries(const struct step *step) {
  char path[SHORT_PATH];
  snprintf(path, sizeof path, STORAGE "/%.32s/upper", step->name);
  int upper = openat(work.stage, path, FOLDER_FLAGS);
  DIR *list = upper < 0 ? NULL : fdopendir(upper);
  if (list == NULL) die_at("look at what was written to", step->target);
  bool has = next_entry(list) != NULL;
  closedir(list);
  return has;
}

/* It fails while anybody has a file of the mount open for writing. */
static void forbid_writing(unsigned step) {
  work.closed[step] = open_in_root(work.root, work.kept->spec->steps[step].target);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
  if (syscall(SYS_mount_setattr, work.closed[step], "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0) return;
  int error = errno;
  work.closed[step] = -1;
  die_with(error, "end the writing");
}

static bool has_gap(unsigned step) { return work.raising->gaps[step].count > 0; }

/* The root is made anew in any case, the other overlays where there is something to freeze, or fewer layers to lie on. */
static void look_at_old(void) {
  const struct spec *spec = work.kept->spec;
  for (unsigned i = 0; i < spec->step_count; i++) {
    const struct step *step = &spec->steps[i];
    bool is_raised = step->kind == SETUP_OVERLAY && (work.steps == 0 || has_gap(i) || has_entries(step));
    if (is_raised) work.steps |= 1ull << i;
    if (is_raised || step->kind == SETUP_HELD) forbid_writing(i);
    if (!is_raised && is_moved(step)) work.renewed[i].old = open_in_root(work.root, step->target);
  }
}

/* ---- the new layers ---- */

/* What is mounted over the root does not hide it from those who are there. */
static void enter_stage_copy(void) {
  int stage = fcntl(work.stage, F_DUPFD_CLOEXEC, 0), root = fcntl(work.root, F_DUPFD_CLOEXEC, 0);
  if (stage < 0 || root < 0) die("keep the stage");
  attach_mount(stage, root, "the root");
  if (fchdir(work.stage) < 0) _exit(EXIT_FAILURE);
  work.is_on_stage = true;
}

static void place_merged(const struct step *step, unsigned number) {
  char folder[SHORT_PATH];
  snprintf(folder, sizeof folder, FROZEN_PREFIX "%s/", work.raising->merged);
  place_layer(step, folder, number);
}

static void make_raised(unsigned index) {
  const struct step *step = &work.kept->spec->steps[index];
  const unsigned raise = work.raising->count + 1;
  struct lowers lowers = work.raising->lowers[index];
  char writable[SHORT_PATH];
  make_next(step);
  place_layer(step, "", raised_number(raise));
  if (has_gap(index)) place_merged(step, merged_number(raise));
  renew_lowers(&lowers, work.raising->gaps[index], raise);
  snprintf(writable, sizeof writable, STORAGE "/" NEXT "/%.32s", step->name);
  struct overlay overlay = {
      .target = step->target,
      .writable = writable,
      .name = step->name,
      .lowers = &lowers,
  };
  work.renewed[index].overlay = make_overlay(&overlay);
  if (work.renewed[index].overlay < 0) refuse("this kernel takes no layers by descriptor");
}

static bool is_raised(unsigned index) { return (work.steps >> index & 1ull) != 0; }

/* The host's user may move it: it lies in a folder of this user. */
static void make_frozen(void) {
  char path[SHORT_PATH];
  snprintf(path, sizeof path, STORAGE "/" FROZEN_PREFIX "%s", work.raising->layer);
  make_folder(path, 0700);
  if (work.kept->spec->id_map == ID_MAP_SUBIDS && lchown(path, INSIDE_USER_ID, INSIDE_USER_ID) < 0) die_at("set the owner of", path);
}

static void make_new_layers(void) {
  int storage = open_on_stage(STORAGE);
  if (!remove_tree(storage, NEXT)) die("remove what an earlier raise has left");
  close(storage);
  make_folder(STORAGE "/" NEXT, 0700);
  make_frozen();
  for (unsigned i = 0; i < work.kept->spec->step_count; i++)
    if (is_raised(i)) make_raised(i);
}

static void rename_layer(const char *from, const char *to) {
  if (rename(from, to) < 0) die_at("rename", from);
}

/* What nobody lies on any more is no part of the stages to come. An attempt that was taken back may have left a mount of the same name below. */
static void let_go_of_merged(unsigned index) {
  const struct lowers *lowers = &work.raising->lowers[index];
  struct gap gap = work.raising->gaps[index];
  for (unsigned i = gap.above; i < gap.above + gap.count; i++) {
    char name[LOWER_NAME_MAX];
    name_lower(work.kept->spec->steps[index].name, lowers->numbers[i], name);
    while (umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
    rmdir(name);
  }
}

/* From here on nothing is taken back. */
static int take_next_stage(void) {
  work.is_final = true;
  for (unsigned i = 0; i < work.kept->spec->step_count; i++)
    if (is_raised(i)) let_go_of_merged(i);
  return copy_stage();
}

static void exchange_layers(void) {
  for (unsigned i = 0; i < work.kept->spec->step_count; i++) {
    char now[SHORT_PATH], frozen[SHORT_PATH], next[SHORT_PATH];
    const char *name = work.kept->spec->steps[i].name;
    if (!is_raised(i)) continue;
    snprintf(now, sizeof now, STORAGE "/%.32s", name);
    snprintf(frozen, sizeof frozen, STORAGE "/" FROZEN_PREFIX "%s/%.32s", work.raising->layer, name);
    snprintf(next, sizeof next, STORAGE "/" NEXT "/%.32s", name);
    rename_layer(now, frozen);
    rename_layer(next, now);
  }
}

/* ---- the answer ---- */

/*
 * The kernel frees what it holds of an overlay's files in the process that lets go of it last. That is one that nobody waits for: it waits
 * until the keeper has closed its end, and with it the old overlays.
 */
static _Noreturn void answer(int next) {
  const struct kept *kept = work.kept;
  int fds[1 + OVERLAYS_MAX] = {next}, last[1 + OVERLAYS_MAX] = {work.channel};
  unsigned count = open_overlays(kept->spec, fds + 1);
  alarm(0);
  if (!send_word(work.channel, WORD_RAISED, fds, 1 + count) || !write_whole(work.channel, &work.steps, sizeof work.steps)) _exit(EXIT_FAILURE);
  memcpy(last + 1, kept->overlays, kept->overlay_count * sizeof last[0]);
  close_all_but(last, 1 + kept->overlay_count);
  if (fork() != 0) _exit(EXIT_SUCCESS);
  setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY); /* whoever goes on with the sandbox comes first */
  receive_word(work.channel, WORD_GO, NULL, 0);
  close_all_but(NULL, 0);
  _exit(EXIT_SUCCESS);
}

void raise_layers(const struct kept *kept, const struct raising *raising, int channel) {
  pid_t keeper = getppid();
  alarm(RAISE_SECONDS);
  umask(0);
  work.kept = kept;
  work.raising = raising;
  work.channel = channel;
  work.stage = kept->stage;
  for (unsigned i = 0; i < STEPS_MAX; i++) {
    work.renewed[i] = (struct renewed){.old = -1, .overlay = -1};
    work.closed[i] = -1;
  }
  set_failure_report(-1, NULL, restore);
  enter_namespaces(keeper);
  if (!is_guest_alone()) refuse("a program is alive");
  look_at_old();
  enter_stage_copy();
  make_new_layers();
  int next = take_next_stage();
  exchange_layers();
  renew_root(kept->spec, work.renewed);
  answer(next);
}
