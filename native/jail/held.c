#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPTIONS_MAX 128
/* Empty files take no space of the disk, but about a kilobyte of the kernel's memory each. */
#define BYTES_PER_INODE 4096u
#define INODES_MIN 1024u
/*
 * What a run needs before its first program: the overlays some folders of their own, and a workspace the folders above it, up to the longest
 * path, with long links to it. So whoever filled the disk and moved these folders can start the sandbox, and remove files.
 */
#define INODES_SPARE (64u + PATH_MAX / 2)
#define BLOCKS_SPARE 4u
#define WATCH_BYTES 4096

/* One table in each process. */
static struct {
  struct held **at;
  size_t count, room;
  int watches;
  FILE *list; /* the kernel's, of the watches */
} all = {.watches = -1};

bool has_held(void) { return all.count > 0; }

struct held *find_held(const char *id) {
  for (size_t i = 0; i < all.count; i++)
    if (strcmp(all.at[i]->id, id) == 0) return all.at[i];
  return NULL;
}

/* ---- their file systems ---- */

static void path_of(const char *id, char path[ID_LENGTH + 2]) { snprintf(path, ID_LENGTH + 2, "/%.20s", id); }

void unmount_held(const char *id) {
  char path[ID_LENGTH + 2];
  path_of(id, path);
  umount2(path, MNT_DETACH);
  unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static bool mount_layers(const char *id, uint64_t bytes, uid_t owner) {
  char path[ID_LENGTH + 2], options[OPTIONS_MAX];
  path_of(id, path);
  unsigned long long inodes = bytes / BYTES_PER_INODE + INODES_MIN;
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=700,uid=%u,gid=%u", (unsigned long long)bytes, inodes, owner, owner);
  if (mkdirat(AT_FDCWD, path, 0700) < 0) return false;
  if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0) return true;
  int error = errno;
  unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
  errno = error;
  return false;
}

/* What is free, or the spare where that is more, on top of what is used. */
static unsigned long long with_spare(uint64_t whole, uint64_t unused, uint64_t spare) { return whole - unused + (unused < spare ? spare : unused); }

static bool spare_room(const char *path) {
  char options[OPTIONS_MAX];
  struct statfs status;
  if (statfs(path, &status) < 0) return false;
  if (status.f_ffree >= INODES_SPARE && status.f_bfree >= BLOCKS_SPARE) return true;
  unsigned long long bytes = with_spare(status.f_blocks, status.f_bfree, BLOCKS_SPARE) * (unsigned long long)status.f_bsize;
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu", bytes, with_spare(status.f_files, status.f_ffree, INODES_SPARE));
  return mount(NULL, path, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options) == 0;
}

int open_held(const struct held *held) {
  char path[ID_LENGTH + 2];
  path_of(held->id, path);
  return spare_room(path) ? (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC) : -1;
}

int look_at_held(const struct held *held) {
  char path[ID_LENGTH + 2];
  path_of(held->id, path);
  return (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLOEXEC);
}

static bool make_room(void) {
  if (all.count < all.room) return true;
  size_t room = all.room == 0 ? 16 : all.room * 2;
  struct held **grown = realloc(all.at, room * sizeof *grown);
  if (grown == NULL) return false;
  all.at = grown;
  all.room = room;
  return true;
}

struct held *make_held(const char *id, uint64_t bytes, uid_t owner) {
  if (find_held(id) != NULL) {
    errno = EEXIST;
    return NULL;
  }
  struct held *held = make_room() ? calloc(1, sizeof *held) : NULL;
  if (held == NULL || !mount_layers(id, bytes, owner)) {
    free(held);
    return NULL;
  }
  held->watch = -1;
  memcpy(held->id, id, sizeof held->id);
  all.at[all.count++] = held;
  return held;
}

void drop_held(struct held *held) {
  if (!ask_remover(held->id)) unmount_held(held->id);
  if (held->watch >= 0) inotify_rm_watch(all.watches, held->watch);
  if (held->user != NULL) *held->user = NULL;
  for (size_t i = 0; i < all.count; i++)
    if (all.at[i] == held) all.at[i] = all.at[--all.count];
  free(held);
}

/* ---- the folders of their runs ---- */

int open_watches(void) {
  char path[64];
  all.watches = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (all.watches < 0) die("watch folders (fs.inotify.max_user_instances)");
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", all.watches);
  all.list = fopen(path, "re");
  if (all.list == NULL) die("open the list of watches");
  return all.watches;
}

/* Names of open descriptors lead to what they are open on: the working folder is the list of them. */
bool watch_runs(struct held *held, int runs) {
  char name[16];
  snprintf(name, sizeof name, "%d", runs);
  int watch = inotify_add_watch(all.watches, name, IN_DELETE_SELF | IN_ONLYDIR);
  if (watch < 0) return false;
  if (held->watch >= 0 && held->watch != watch) inotify_rm_watch(all.watches, held->watch);
  held->watch = watch;
  return true;
}

static struct held *find_watched(int watch) {
  for (size_t i = 0; i < all.count; i++)
    if (all.at[i]->watch == watch) return all.at[i];
  return NULL;
}

/* The kernel has already removed the watch. */
static void drop_unwatched(struct held *held) {
  held->watch = -1;
  drop_held(held);
}

/*
 * Events were lost. The kernel's list still has the watches of all folders that are there. An unmount that was lost looks like a deletion.
 * If the list cannot be read, all layers stay.
 */
static void drop_unlisted(void) {
  char *line = NULL;
  size_t room = 0;
  unsigned watch;
  for (size_t i = 0; i < all.count; i++) all.at[i]->is_listed = all.at[i]->watch < 0;
  rewind(all.list);
  while (getline(&line, &room, all.list) >= 0) {
    struct held *held = sscanf(line, "inotify wd:%x", &watch) == 1 ? find_watched((int)watch) : NULL;
    if (held != NULL) held->is_listed = true;
  }
  bool is_whole = feof(all.list);
  free(line);
  for (size_t i = all.count; is_whole && i > 0; i--)
    if (!all.at[i - 1]->is_listed) drop_unwatched(all.at[i - 1]);
}

/* A disk that is unmounted may come back, with the sandbox. */
static void note_event(const struct inotify_event *event) {
  struct held *held = find_watched(event->wd);
  if ((event->mask & IN_Q_OVERFLOW) != 0) drop_unlisted();
  else if (held != NULL && (event->mask & IN_DELETE_SELF) != 0) drop_unwatched(held);
  else if (held != NULL && (event->mask & IN_UNMOUNT) != 0) held->watch = -1;
}

bool read_watches(int other) {
  char bytes[WATCH_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
  bool has_other = false;
  ssize_t length = read(all.watches, bytes, sizeof bytes);
  for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= length;) {
    struct inotify_event event;
    memcpy(&event, bytes + at, sizeof event);
    has_other |= event.wd == other || (event.mask & IN_Q_OVERFLOW) != 0;
    note_event(&event);
    at += (ssize_t)(sizeof event + event.len);
  }
  return has_other;
}
