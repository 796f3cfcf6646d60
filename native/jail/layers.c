#include "layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io.h"
#include "raise.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Beside the layers of a sandbox, while they are removed. */
#define GONE ".gone-"
#define GONE_MAX 4096u
#define LOWEST_PRIORITY 19

/* One in each process: what the job works on, opened before it becomes the owner of the files. */
static struct {
  int written, frozen;
} open_trees = {.written = -1, .frozen = -1};

void fail_job(const char *action, const char *target) {
  int error = errno;
  dprintf(STDERR_FILENO, "%s %.200s: %s\n", action, target, strerror(error));
  _exit(error == ENOSPC || error == EDQUOT ? EXIT_FULL : error == ENOENT ? EXIT_LOST : EXIT_FAILURE);
}

/* ---- locks ---- */

int lock_frozen(const struct spec *spec) {
  int folder = open(spec->layer, FOLDER_FLAGS);
  if (folder < 0) fail_job("open", spec->layer);
  if (!take_lock_soon(folder)) _exit(EXIT_ALIVE);
  return folder;
}

static int lock_runs(const struct spec *spec) {
  int runs = open_runs(spec);
  if (!take_lock_soon(runs)) _exit(EXIT_ALIVE);
  return runs;
}

/* ---- freezing ---- */

/* The overlays that have something in them, a line each. */
static void print_overlays(int layers) {
  int fd = openat(layers, ".", FOLDER_FLAGS);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  if (list == NULL) fail_job("open", "a frozen layer");
  while ((entry = readdir(list)) != NULL) {
    int upper = open_overlay(layers, entry->d_name);
    if (upper < 0) continue;
    dprintf(STDOUT_FILENO, "%s\n", entry->d_name);
    close(upper);
  }
  closedir(list);
}

/* Of a layer that lies with the writable ones, the path begins there. */
static int open_below(const struct source *source) {
  return source->ids == IDS_HELD ? openat(open_trees.written, source->path + 1, FOLDER_FLAGS) : open(source->path, FOLDER_FLAGS);
}

static void copy_below(const struct spec *spec, void (*copy)(int from, int to)) {
  for (unsigned i = spec->source_count; i > 0; i--) {
    int layer = open_below(&spec->sources[i - 1]);
    if (layer < 0) fail_job("open", "a frozen layer");
    copy(layer, open_trees.frozen);
    close(layer);
  }
}

/* Whoever gives up waiting kills the job, and may remove what it has made at once. */
static int copy_as_owner(const struct spec *spec) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail_job("tie the copy to", "its caller");
  copy_below(spec, copy_layers);
  copy_layers(open_trees.written, open_trees.frozen);
  print_overlays(open_trees.frozen);
  return EXIT_SUCCESS;
}

int make_frozen(const struct spec *spec) {
  if (mkdir(spec->frozen, 0700) < 0) fail_job("make", spec->frozen);
  if (spec->id_map == ID_MAP_SLOT && chown(spec->frozen, CANONICAL_FIRST_ID, CANONICAL_FIRST_ID) < 0) fail_job("set the owner of", spec->frozen);
  int frozen = open(spec->frozen, FOLDER_FLAGS);
  if (frozen < 0) fail_job("open", spec->frozen);
  return frozen;
}

static int copy_job(const struct spec *spec) {
  lock_frozen(spec);
  if (spec->keeper_is_gone) lock_runs(spec); /* no run starts while the files are read */
  open_trees.written = open_written(spec);
  open_trees.frozen = make_frozen(spec);
  return run_as_owner(spec, copy_as_owner);
}

/* In memory each name takes one of the sandbox's inodes. Its programs keep as many as a merge can take. */
static void make_held(const char *name) {
  struct statfs status;
  struct stat whole;
  if (fstatfs(open_trees.written, &status) < 0 || fstat(open_trees.written, &whole) < 0) fail_job("look at", "the sandbox's files in memory");
  errno = ENOSPC;
  if (status.f_ffree < 2 * (status.f_files - status.f_ffree)) fail_job("make", name);
  if (mkdirat(open_trees.written, name, 0700) < 0) fail_job("make", name);
  open_trees.frozen = openat(open_trees.written, name, FOLDER_FLAGS);
  if (open_trees.frozen < 0 || fchown(open_trees.frozen, whole.st_uid, whole.st_gid) < 0) fail_job("open", name);
}

static int merge_as_owner(const struct spec *spec) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail_job("tie the merge to", "its caller");
  if (spec->storage == STORAGE_TMPFS) make_held(spec->frozen + 1);
  copy_below(spec, link_layers);
  return EXIT_SUCCESS;
}

/* The layers that it stands for may go when it is taken, so a power cut must leave it. Nobody waits for it, unless a checkpoint does. */
static int merge_job(const struct spec *spec) {
  bool is_held = spec->storage == STORAGE_TMPFS;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail_job("tie the merge to", "its caller");
  lock_frozen(spec);
  setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
  if (is_held) open_trees.written = open_written(spec);
  else open_trees.frozen = make_frozen(spec);
  int result = run_as_owner(spec, merge_as_owner);
  if (result == EXIT_SUCCESS && !is_held && syncfs(open_trees.frozen) < 0) fail_job("write to the disk", spec->frozen);
  return result;
}

/* Of one moment, also while programs write. The kernel makes it in one transaction, which has what was written before. */
static int clone_job(const struct spec *spec) {
  lock_frozen(spec);
  if (!clone_subvolume(spec->layers, spec->frozen, true)) fail_job("freeze", "what the sandbox wrote");
  int frozen = open(spec->frozen, FOLDER_FLAGS);
  if (frozen < 0) fail_job("open", spec->frozen);
  print_overlays(frozen);
  return EXIT_SUCCESS;
}

/* ---- putting back ---- */

static void make_gone(char name[32]) {
  for (unsigned i = 0; i < GONE_MAX; i++) {
    snprintf(name, 32, GONE "%u", i);
    if (mkdirat(open_trees.written, name, 0700) == 0) return;
    if (errno != EEXIST) break;
  }
  fail_job("make room for", "what the sandbox wrote");
}

/* A rename for each overlay, however much the sandbox wrote. */
static int set_aside(const struct spec *spec) {
  char gone[32];
  (void)spec;
  make_gone(gone);
  int to = openat(open_trees.written, gone, FOLDER_FLAGS), fd = openat(open_trees.written, ".", FOLDER_FLAGS);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  if (to < 0 || list == NULL) fail_job("open", "what the sandbox wrote");
  while ((entry = readdir(list)) != NULL)
    if (is_layer_name(entry->d_name) && renameat(open_trees.written, entry->d_name, to, entry->d_name) < 0) fail_job("set aside", entry->d_name);
  closedir(list);
  close(to);
  return EXIT_SUCCESS;
}

static int remove_gone(const struct spec *spec) {
  char name[32];
  (void)spec;
  for (unsigned i = 0; i < GONE_MAX; i++) {
    struct stat status;
    snprintf(name, sizeof name, GONE "%u", i);
    if (fstatat(open_trees.written, name, &status, AT_SYMLINK_NOFOLLOW) < 0) break;
    if (!remove_tree(open_trees.written, name)) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

static int empty_folder_job(const struct spec *spec, int runs) {
  open_trees.written = open_written(spec);
  int result = run_as_owner(spec, set_aside);
  if (result != EXIT_SUCCESS) return result;
  close(runs);
  dprintf(STDOUT_FILENO, "done\n");
  return run_as_owner(spec, remove_gone);
}

/* A process that is killed before the second rename leaves no layers. The same job again then makes them. */
static int change_subvolume_job(const struct spec *spec, int runs) {
  char fresh[PATH_MAX], gone[PATH_MAX];
  if (!beside_layers(spec, LAYERS_NEW, fresh) || !beside_layers(spec, LAYERS_GONE, gone)) refuse("the path of the layers is too long");
  /* A sandbox that was deleted meanwhile gets no new layers, which nobody would remove. */
  bool was_there = access(spec->layers, F_OK) == 0 || access(gone, F_OK) == 0 || access(fresh, F_OK) == 0;
  if (!was_there) fail_job("put back", "what the sandbox wrote");
  if (!remove_subvolume(fresh) || !remove_subvolume(gone)) fail_job("remove what an earlier job left of", spec->layers);
  bool made = spec->job == LAYER_SEED ? clone_subvolume(spec->frozen, fresh, false) : make_subvolume(fresh);
  if (!made) fail_job("make room for", "what the sandbox writes");
  if (rename(spec->layers, gone) < 0 && errno != ENOENT) fail_job("set aside", spec->layers);
  if (rename(fresh, spec->layers) < 0) fail_job("put back", "what the sandbox wrote");
  close(runs);
  dprintf(STDOUT_FILENO, "done\n");
  return remove_subvolume(gone) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The answer comes before the files are removed, which may take long. What is left is removed with the next job, or with the sandbox. */
static int empty_job(const struct spec *spec) {
  int runs = lock_runs(spec);
  if (spec->storage == STORAGE_BTRFS) return change_subvolume_job(spec, runs);
  if (spec->job == LAYER_SEED) refuse("only a subvolume can be made from another one");
  return empty_folder_job(spec, runs);
}

/* ---- removing ---- */

static int remove_as_owner(const struct spec *spec) {
  (void)spec;
  return remove_tree(open_trees.frozen, FROZEN_TREE) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int remove_held_as_owner(const struct spec *spec) { return remove_tree(open_trees.written, spec->frozen + 1) ? EXIT_SUCCESS : EXIT_FAILURE; }

static int remove_job(const struct spec *spec) {
  open_trees.frozen = lock_frozen(spec);
  if (spec->storage == STORAGE_TMPFS) {
    open_trees.written = open_written(spec);
    return run_as_owner(spec, remove_held_as_owner);
  }
  if (spec->storage == STORAGE_BTRFS) return remove_subvolume(spec->frozen) ? EXIT_SUCCESS : EXIT_FAILURE;
  return run_as_owner(spec, remove_as_owner);
}

/* ---- looking at a raise that was cut off ---- */

static int list_as_owner(const struct spec *spec) {
  char name[NAME_MAX + 1];
  const char *id = strrchr(spec->layer, '/') + 1;
  if (snprintf(name, sizeof name, FROZEN_PREFIX "%s", id) >= (int)sizeof name) refuse("a layer has too long a name");
  int raised = openat(open_trees.written, name, FOLDER_FLAGS);
  if (raised < 0 && errno == ENOENT) raised = open(spec->frozen, FOLDER_FLAGS); /* it has its place already */
  if (raised >= 0) print_overlays(raised);
  else if (errno != ENOENT) fail_job("open", name);
  return EXIT_SUCCESS;
}

/* The process that raises holds the lock until it has renamed all. */
static int list_job(const struct spec *spec) {
  lock_runs(spec);
  open_trees.written = open_written(spec);
  return run_as_owner(spec, list_as_owner);
}

int run_layer_job(struct spec_bytes raw) {
  static struct spec spec;
  parse_spec(raw, &spec);
  hold_pool(&spec);
  bool has_frozen = spec.frozen != NULL && spec.frozen[0] == '/' && spec.layer != NULL && spec.layer[0] == '/';
  if (!has_frozen && spec.job != LAYER_EMPTY) refuse("the job on layers lacks a path");
  switch ((enum layer_job)spec.job) {
    case LAYER_COPY: return copy_job(&spec);
    case LAYER_CLONE: return clone_job(&spec);
    case LAYER_EMPTY:
    case LAYER_SEED: return empty_job(&spec);
    case LAYER_REMOVE: return remove_job(&spec);
    case LAYER_LIST: return list_job(&spec);
    case LAYER_FLUSH: return flush_job(&spec);
    case LAYER_MERGE: return merge_job(&spec);
  }
  refuse("a job on layers of an unknown kind");
}
