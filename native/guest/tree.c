/* LIST and REMOVE: work on whole folders, and never follow a link in them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "work.h"

/* The longest path that is entered, a name in it, both with a slash, and a NUL. */
#define SHOWN_BYTES (LIST_PATH_MAX + NAME_MAX + 3u)
#define REMOVE_DEPTH_MAX 65536u
#define ENTRIES_PER_CHECK 256u

struct listing {
  struct work *work;
  uint32_t depth;
  /* Names of folders that are not entered. Ends with NULL. NULL: none. */
  char **closed;
  /* The path of the current folder below the listed folder: "" or "a/b/". */
  char shown[SHOWN_BYTES];
  size_t shown_length;
};

static bool is_dots(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

static void list_folder(struct listing *listing, DIR *folder, uint32_t level);

/* A folder that is gone or unreadable is listed without its content. */
static void list_below(struct listing *listing, int folder, const char *name, uint32_t level) {
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == ENOTDIR || errno == ELOOP)) return;
  DIR *below = fd < 0 ? NULL : fdopendir(fd);
  if (below == NULL) work_fail(listing->work, "list", listing->shown);
  listing->shown[listing->shown_length++] = '/';
  listing->shown[listing->shown_length] = 0;
  list_folder(listing, below, level + 1);
  closedir(below);
}

static bool is_closed(const struct listing *listing, const char *name) {
  for (char **closed = listing->closed; closed != NULL && *closed != NULL; closed++)
    if (strcmp(*closed, name) == 0) return true;
  return false;
}

static void list_entry(struct listing *listing, int folder, const char *name, uint32_t level) {
  struct stat status;
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return;
    work_fail(listing->work, "stat", name);
  }
  size_t before = listing->shown_length;
  size_t length = strlen(name);
  errno = ENAMETOOLONG;
  if (length + 2 > SHOWN_BYTES - before) work_fail(listing->work, "list", name);
  memcpy(&listing->shown[before], name, length + 1);
  listing->shown_length += length;
  struct field_writer fields = work_fields(listing->work);
  put_entry(listing->work, &fields, &(struct place){folder, name, listing->shown}, &status);
  work_send(listing->work, FRAME_ENTRY, &fields);
  bool is_entered = level < listing->depth && listing->shown_length <= LIST_PATH_MAX && !is_closed(listing, name);
  if (S_ISDIR(status.st_mode) && is_entered) list_below(listing, folder, name, level);
  listing->shown_length = before;
  listing->shown[before] = 0;
}

static void list_folder(struct listing *listing, DIR *folder, uint32_t level) {
  errno = 0;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (!is_dots(entry->d_name)) list_entry(listing, dirfd(folder), entry->d_name, level);
    errno = 0;
  }
  if (errno != 0) work_fail(listing->work, "list", listing->shown);
}

void serve_list(struct work *work) {
  const struct request *request = work->request;
  DIR *folder = opendir(request->path);
  struct listing *listing = calloc(1, sizeof *listing);
  if (folder == NULL || listing == NULL) work_fail(work, "list", request->path);
  listing->work = work;
  listing->depth = has_field(request, TAG_DEPTH) && request->depth > 0 ? request->depth : 1;
  if (listing->depth > LIST_LEVELS_MAX) listing->depth = LIST_LEVELS_MAX;
  listing->closed = request->args.items;
  list_folder(listing, folder, 1);
  work_done(work, NULL);
}

struct level {
  dev_t device;
  ino_t inode;
};

/* Only one folder is open at a time, at any depth. The way up is "..", which must lead to the folder above. */
struct removal {
  struct work *work;
  const char *path;
  DIR *folder;
  struct level *above;
  size_t depth;
};

static void enter(struct removal *removal, int fd) {
  if (removal->folder != NULL) closedir(removal->folder);
  removal->folder = fd < 0 ? NULL : fdopendir(fd);
  if (removal->folder == NULL) work_fail(removal->work, "remove what is in", removal->path);
}

static void go_down(struct removal *removal, const char *name) {
  int folder = dirfd(removal->folder);
  struct stat status;
  if (fstat(folder, &status) != 0) work_fail(removal->work, "remove what is in", removal->path);
  if (removal->depth == REMOVE_DEPTH_MAX) work_refuse(removal->work, GUEST_ERROR_PATH_INVALID, "folders lie too deep to remove");
  removal->above[removal->depth++] = (struct level){status.st_dev, status.st_ino};
  enter(removal, openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void go_up(struct removal *removal) {
  const struct level *expected = &removal->above[--removal->depth];
  struct stat status;
  enter(removal, openat(dirfd(removal->folder), "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fstat(dirfd(removal->folder), &status) != 0) work_fail(removal->work, "remove what is in", removal->path);
  if (status.st_dev == expected->device && status.st_ino == expected->inode) return;
  work_refuse(removal->work, GUEST_ERROR_IO, "a folder was moved while it was being removed; nothing outside was touched: try again");
}

/* False: the entry is a folder that is not empty. */
static bool remove_entry(struct removal *removal, const char *name) {
  int folder = dirfd(removal->folder);
  if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR) work_fail(removal->work, "remove", name);
  if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno == ENOTEMPTY || errno == EEXIST) return false;
  work_fail(removal->work, "remove", name);
}

/* One pass over the open folder. True: the folder was empty. Enters the first folder that is not empty. */
static bool empty_folder(struct removal *removal) {
  bool empty = true;
  errno = 0;
  size_t count = 0;
  for (struct dirent *entry = readdir(removal->folder); entry != NULL; entry = readdir(removal->folder)) {
    if (is_dots(entry->d_name)) continue;
    empty = false;
    if (count++ % ENTRIES_PER_CHECK == 0) work_go_on(removal->work);
    if (!remove_entry(removal, entry->d_name)) {
      go_down(removal, entry->d_name);
      return false;
    }
    errno = 0;
  }
  if (errno != 0) work_fail(removal->work, "remove what is in", removal->path);
  /* readdir may skip entries while others are deleted. Only a pass that finds no entry proves that the folder is empty. */
  rewinddir(removal->folder);
  return empty;
}

static void remove_tree(struct work *work, const char *path) {
  struct removal removal = {.work = work, .path = path, .above = calloc(REMOVE_DEPTH_MAX, sizeof *removal.above)};
  if (removal.above == NULL) work_fail(work, "remove", path);
  enter(&removal, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  for (;;) {
    if (!empty_folder(&removal)) continue;
    if (removal.depth == 0) break;
    go_up(&removal);
  }
  closedir(removal.folder);
}

void serve_remove(struct work *work) {
  const char *path = work->request->path;
  if (unlink(path) == 0) work_done(work, NULL);
  if (errno != EISDIR) work_fail(work, "remove", path);
  if (rmdir(path) == 0) work_done(work, NULL);
  bool full = errno == ENOTEMPTY || errno == EEXIST;
  if (!full || !has_flag(work->request, FLAG_RECURSIVE)) work_fail(work, "remove", path);
  remove_tree(work, path);
  if (rmdir(path) != 0) work_fail(work, "remove", path);
  work_done(work, NULL);
}
