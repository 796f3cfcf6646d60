/* COPY: keeps the holes of files and the links in folders. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy-data.h"
#include "paths.h"
#include "work.h"

#define DEPTH_MAX 200u

/* The source or the target: a name in an open folder. */
struct end {
  int folder;
  const char *name;
};

static bool is_dots(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

static void copy_bytes(struct work *work, int from, int to, const char *name) {
  for (;;) {
    ssize_t count = read(from, work->payload, sizeof work->payload);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) work_fail(work, "read", name);
    if (count == 0) return;
    if (!write_whole(to, work->payload, (size_t)count)) work_fail(work, "write", name);
    work_go_on(work);
  }
}

static void go_on(void *work) { work_go_on(work); }

static void copy_sparse(struct work *work, int from, int to, off_t size, const char *name) {
  struct data_copy copy = {.from = from, .to = to, .room = work->payload, .room_bytes = sizeof work->payload, .go_on = go_on, .context = work};
  if (!copy_data(&copy, size)) work_fail(work, "copy", name);
}

static void copy_file(struct work *work, struct end source, struct end target, int follow) {
  int from = openat(source.folder, source.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow);
  struct stat status;
  if (from < 0 || fstat(from, &status) != 0) work_fail(work, "open", source.name);
  if (!S_ISREG(status.st_mode)) work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "the source is no regular file");
  mode_t mode = status.st_mode & 0777;
  int to = openat(target.folder, target.name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow, mode);
  struct stat old;
  if (to < 0 || fstat(to, &old) != 0) work_fail(work, "write", target.name);
  if (old.st_dev == status.st_dev && old.st_ino == status.st_ino) work_refuse(work, GUEST_ERROR_PATH_INVALID, "the source and the target are one file");
  if (!S_ISREG(old.st_mode)) work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "the target is there and is no regular file");
  if (ftruncate(to, 0) != 0) work_fail(work, "write", target.name);
  /* Files of /proc report a size of 0. */
  if (status.st_size == 0) copy_bytes(work, from, to, source.name);
  else copy_sparse(work, from, to, status.st_size, source.name);
  close(from);
  if (close(to) != 0) work_fail(work, "write", target.name);
}

static void copy_link(struct work *work, struct end source, struct end target) {
  char text[PATH_MAX];
  ssize_t length = readlinkat(source.folder, source.name, text, sizeof text - 1);
  if (length < 0) work_fail(work, "read the link", source.name);
  text[length] = 0;
  if (symlinkat(text, target.folder, target.name) != 0) work_fail(work, "make the link", target.name);
}

static void copy_entry(struct work *work, struct end source, struct end target, unsigned depth);

static void copy_folder(struct work *work, struct end source, struct end target, unsigned depth) {
  if (depth > DEPTH_MAX) work_refuse(work, GUEST_ERROR_PATH_INVALID, "folders lie deeper than 200 levels: copy a deeper one");
  int from = openat(source.folder, source.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = from < 0 ? NULL : fdopendir(from);
  struct stat status;
  if (folder == NULL || fstat(from, &status) != 0) work_fail(work, "open", source.name);
  bool made = mkdirat(target.folder, target.name, 0700) == 0;
  if (!made && errno != EEXIST) work_fail(work, "make the folder", target.name);
  int to = openat(target.folder, target.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth == 0 ? 0 : O_NOFOLLOW));
  if (to < 0) work_fail(work, "open", target.name);
  errno = 0;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (!is_dots(entry->d_name)) copy_entry(work, (struct end){from, entry->d_name}, (struct end){to, entry->d_name}, depth + 1);
    errno = 0;
  }
  if (errno != 0) work_fail(work, "read", source.name);
  /* The mode is set last: files cannot be made in a read-only folder. */
  if (made && fchmod(to, status.st_mode & 0777) != 0) work_fail(work, "set the mode of", target.name);
  closedir(folder);
  close(to);
}

static void copy_entry(struct work *work, struct end source, struct end target, unsigned depth) {
  struct stat status;
  work_go_on(work);
  if (fstatat(source.folder, source.name, &status, AT_SYMLINK_NOFOLLOW) != 0) work_fail(work, "copy", source.name);
  if (S_ISDIR(status.st_mode)) copy_folder(work, source, target, depth);
  else if (S_ISREG(status.st_mode)) copy_file(work, source, target, O_NOFOLLOW);
  else if (S_ISLNK(status.st_mode)) copy_link(work, source, target);
  else if (!S_ISFIFO(status.st_mode)) work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "the folder holds a socket or a device, which no copy can be made of");
  else if (mknodat(target.folder, target.name, S_IFIFO | (status.st_mode & 0777), 0) != 0) work_fail(work, "make", target.name);
}

/* A copy of a folder into itself would never end. The check climbs from the target's parent to the root. */
static void refuse_own_child(struct work *work, const struct stat *source) {
  char parent[PATH_MAX];
  const char *target = work->request->target;
  int fd = parent_of(target, parent, sizeof parent) ? open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd < 0) work_fail(work, "copy to", target);
  struct stat below = {0};
  for (;;) {
    struct stat status;
    if (fstat(fd, &status) != 0) work_fail(work, "copy to", target);
    if (status.st_dev == source->st_dev && status.st_ino == source->st_ino) work_refuse(work, GUEST_ERROR_PATH_INVALID, "a folder is not copied into itself");
    if (status.st_dev == below.st_dev && status.st_ino == below.st_ino) break;
    below = status;
    int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (up < 0) work_fail(work, "copy to", target);
    close(fd);
    fd = up;
  }
  close(fd);
}

void serve_copy(struct work *work) {
  const struct request *request = work->request;
  struct end source = {AT_FDCWD, request->path};
  struct end target = {AT_FDCWD, request->target};
  struct stat status;
  bool recursive = has_flag(request, FLAG_RECURSIVE);
  if (fstatat(AT_FDCWD, request->path, &status, recursive ? AT_SYMLINK_NOFOLLOW : 0) != 0) work_fail(work, "copy", request->path);
  errno = EISDIR;
  if (S_ISDIR(status.st_mode) && !recursive) work_fail(work, "copy", request->path);
  if (S_ISDIR(status.st_mode)) refuse_own_child(work, &status);
  if (S_ISREG(status.st_mode)) copy_file(work, source, target, 0);
  else copy_entry(work, source, target, 0);
  work_done(work, NULL);
}
