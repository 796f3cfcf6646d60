/*
 * Copies what a sandbox wrote into a frozen layer. By descriptors, and no link is followed: names and contents are the sandbox's. Whiteouts
 * and opaque folders stay what they are. What only the mount that was needs is left out: the work folders, and the origins of copies.
 *
 * Several layers become one when they are copied one over the other, the lowest first, as the kernel would show them: what an entry hides
 * gives way to it, and folders of both are merged. A whiteout stays, since it also hides what the template has.
 *
 * Where all of them are frozen, their files get one more name each, which takes no room: nobody writes to a file of a frozen layer, and a
 * sandbox that does gets a copy from the kernel. Folders are made anew.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "copy-data.h"
#include "layers.h"
#include "whiteout.h"

/* Two descriptors each. */
#define LEVELS_MAX 1000u
#define ROOM_BYTES (256u << 10)
/* The kernel's bound of a list of names and of a value. */
#define XATTRS_BYTES 65536u
#define LINKS ".links"
#define OPAQUE "user.overlay.opaque"
#define ORIGIN "user.overlay.origin"
/* What the kernel makes of the attributes of an overlay that a program inside has mounted. */
#define OPAQUE_INSIDE "user.overlay.overlay."
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct tree_copy {
  int links; /* a folder with one name for each file that has several */
  bool from_frozen;
  uint8_t room[ROOM_BYTES];
  char names[XATTRS_BYTES];
  char value[XATTRS_BYTES];
};

struct at {
  int folder;
  const char *name;
};

static bool is_dots(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* The origin names a file of a lower layer, for the mount that made the copy. Rights to programs do not leave a sandbox. */
static bool is_kept(const char *name) {
  if (begins(name, "user.overlay.")) return strcmp(name, OPAQUE) == 0 || begins(name, OPAQUE_INSIDE);
  return begins(name, "user.") || begins(name, "system.posix_acl_");
}

static void copy_attributes(struct tree_copy *copy, int from, int to, const char *shown) {
  ssize_t length = flistxattr(from, copy->names, sizeof copy->names);
  if (length < 0 && errno != ENOTSUP) fail_job("list the attributes of", shown);
  for (const char *name = copy->names; name < copy->names + length; name += strlen(name) + 1) {
    if (!is_kept(name)) continue;
    ssize_t bytes = fgetxattr(from, name, copy->value, sizeof copy->value);
    if (bytes < 0 || fsetxattr(to, name, copy->value, (size_t)bytes, 0) < 0) fail_job("copy an attribute of", shown);
  }
}

/* What a folder of a lower layer has, and the one that is copied over it has not. It hides the template as before. */
static void drop_attributes(struct tree_copy *copy, int to, const char *shown) {
  ssize_t length = flistxattr(to, copy->names, sizeof copy->names);
  if (length < 0 && errno != ENOTSUP) fail_job("list the attributes of", shown);
  for (const char *name = copy->names; name < copy->names + length; name += strlen(name) + 1)
    if (is_kept(name) && strcmp(name, OPAQUE) != 0 && fremovexattr(to, name) < 0) fail_job("remove an attribute of", shown);
}

/* The mode comes after the owner, whose change takes bits away, and the times come last. */
static void make_alike(int to, const struct stat *like, const char *shown) {
  const struct timespec times[2] = {like->st_atim, like->st_mtim};
  if (fchown(to, like->st_uid, like->st_gid) < 0 || fchmod(to, like->st_mode & 07777) < 0 || futimens(to, times) < 0) fail_job("set the attributes of", shown);
}

static void name_of_links(const struct stat *status, char name[24]) { snprintf(name, 24, "%llx", (unsigned long long)status->st_ino); }

/* True: another name of the file was copied before. */
static bool link_again(const struct tree_copy *copy, struct at target, const struct stat *status) {
  char name[24];
  if (status->st_nlink < 2) return false;
  name_of_links(status, name);
  if (linkat(copy->links, name, target.folder, target.name, 0) == 0) return true;
  if (errno == EMLINK) return false;
  if (errno != ENOENT) fail_job("link", target.name);
  return false;
}

static void note_link(const struct tree_copy *copy, struct at target, const struct stat *status) {
  char name[24];
  if (status->st_nlink < 2) return;
  name_of_links(status, name);
  if (linkat(target.folder, target.name, copy->links, name, 0) < 0 && errno != EEXIST) fail_job("link", target.name);
}

static void copy_file(struct tree_copy *copy, struct at source, struct at target, const struct stat *seen) {
  struct stat status;
  if (link_again(copy, target, seen)) return;
  int from = openat(source.folder, source.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (from < 0 || fstat(from, &status) < 0) fail_job("open", source.name);
  int to = openat(target.folder, target.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (to < 0) fail_job("make", target.name);
  struct data_copy data = {.from = from, .to = to, .room = copy->room, .room_bytes = sizeof copy->room};
  if (!S_ISREG(status.st_mode) || !copy_data(&data, status.st_size)) fail_job("copy", source.name);
  copy_attributes(copy, from, to, source.name);
  make_alike(to, &status, target.name);
  close(from);
  if (close(to) < 0) fail_job("write", target.name);
  note_link(copy, target, &status);
}

/* Of what is never opened. */
static void make_alike_by_name(struct at target, const struct stat *like) {
  const struct timespec times[2] = {like->st_atim, like->st_mtim};
  if (fchownat(target.folder, target.name, like->st_uid, like->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
      (!S_ISLNK(like->st_mode) && fchmodat(target.folder, target.name, like->st_mode & 07777, 0) < 0) ||
      utimensat(target.folder, target.name, times, AT_SYMLINK_NOFOLLOW) < 0)
    fail_job("set the attributes of", target.name);
}

static void copy_link(struct at source, struct at target, const struct stat *status) {
  char text[PATH_MAX];
  ssize_t length = readlinkat(source.folder, source.name, text, sizeof text - 1);
  if (length < 0) fail_job("read the link", source.name);
  text[length] = 0;
  if (symlinkat(text, target.folder, target.name) < 0) fail_job("make the link", target.name);
  make_alike_by_name(target, status);
}

/* Whiteouts, FIFOs, and sockets, which nobody listens on any more. Other devices cannot be there. */
static void copy_special(struct at source, struct at target, const struct stat *status) {
  if (!is_whiteout(status) && !S_ISFIFO(status->st_mode) && !S_ISSOCK(status->st_mode)) refuse("what the sandbox wrote has a device in it");
  if (mknodat(target.folder, target.name, status->st_mode & (S_IFMT | 07777), 0) < 0) fail_job("make", source.name);
  if (!is_whiteout(status)) make_alike_by_name(target, status);
}

/* What is at the target already, of a lower layer. */
enum below { BELOW_NOTHING, BELOW_FOLDER, BELOW_OTHER };

static enum below look_below(struct at target) {
  struct stat status;
  if (fstatat(target.folder, target.name, &status, AT_SYMLINK_NOFOLLOW) == 0) return S_ISDIR(status.st_mode) ? BELOW_FOLDER : BELOW_OTHER;
  if (errno != ENOENT) fail_job("look at", target.name);
  return BELOW_NOTHING;
}

static void remove_below(struct at target, enum below below) {
  bool removed = below == BELOW_NOTHING || (below == BELOW_FOLDER ? remove_tree(target.folder, target.name) : unlinkat(target.folder, target.name, 0) == 0);
  if (!removed) fail_job("replace", target.name);
}

/* False: on this file system, or with so many names, it has to be copied. */
static bool add_name(const struct tree_copy *copy, struct at source, struct at target) {
  if (!copy->from_frozen) return false;
  if (linkat(source.folder, source.name, target.folder, target.name, 0) == 0) return true;
  if (errno != EMLINK && errno != EXDEV && errno != EPERM) fail_job("link", source.name);
  return false;
}

bool mark_whiteouts(int folder) {
  int fd = openat(folder, ".", FOLDER_FLAGS); /* the caller may have it without the right to read it */
  bool marked = fd >= 0 && fsetxattr(fd, ORIGIN, "", 0, 0) == 0;
  if (fd >= 0) close(fd);
  return marked;
}

static void copy_folder(struct tree_copy *copy, struct at source, struct at target, unsigned level);

static void copy_entry(struct tree_copy *copy, struct at source, struct at target, unsigned level) {
  struct stat status;
  if (fstatat(source.folder, source.name, &status, AT_SYMLINK_NOFOLLOW) < 0) fail_job("look at", source.name);
  if (!S_ISDIR(status.st_mode)) remove_below(target, look_below(target));
  if (is_whiteout(&status) && !mark_whiteouts(target.folder)) fail_job("mark the folder of", target.name);
  if (S_ISDIR(status.st_mode)) copy_folder(copy, source, target, level + 1);
  else if (add_name(copy, source, target)) return;
  else if (S_ISREG(status.st_mode)) copy_file(copy, source, target, &status);
  else if (S_ISLNK(status.st_mode)) copy_link(source, target, &status);
  else copy_special(source, target, &status);
}

static void copy_entries(struct tree_copy *copy, DIR *from, int to, unsigned level) {
  struct dirent *entry;
  while ((errno = 0, entry = readdir(from)) != NULL)
    if (!is_dots(entry->d_name)) copy_entry(copy, (struct at){dirfd(from), entry->d_name}, (struct at){to, entry->d_name}, level);
  if (errno != 0) fail_job("read a folder of", "what the sandbox wrote");
}

static bool is_opaque(int folder) {
  char value;
  return fgetxattr(folder, OPAQUE, &value, sizeof value) == 1 && value == 'y';
}

/* Returns the folder. One that takes the place of anything else hides what the template has there. */
static int open_copy(struct at target, int from) {
  enum below below = look_below(target);
  bool merges = below == BELOW_FOLDER && !is_opaque(from);
  if (!merges) remove_below(target, below);
  if (!merges && mkdirat(target.folder, target.name, 0700) < 0) fail_job("make the folder", target.name);
  int to = openat(target.folder, target.name, FOLDER_FLAGS);
  if (to < 0) fail_job("open", target.name);
  /* Until it is full. A lower layer's mode may forbid entries. */
  if (merges && fchmod(to, 0700) < 0) fail_job("open", target.name);
  if (below == BELOW_OTHER && fsetxattr(to, OPAQUE, "y", 1, 0) < 0) fail_job("make opaque:", target.name);
  return to;
}

/* The attributes of a folder are set when it is full: its mode may forbid entries, and each entry changes its time. */
static void copy_folder(struct tree_copy *copy, struct at source, struct at target, unsigned level) {
  struct stat status;
  if (level > LEVELS_MAX) refuse("folders of the sandbox lie deeper than 1000 levels: remove the deeper ones");
  int fd = openat(source.folder, source.name, FOLDER_FLAGS);
  DIR *from = fd < 0 ? NULL : fdopendir(fd);
  if (from == NULL || fstat(fd, &status) < 0) fail_job("open", source.name);
  int to = open_copy(target, fd);
  copy_entries(copy, from, to, level);
  drop_attributes(copy, to, source.name);
  copy_attributes(copy, fd, to, source.name);
  make_alike(to, &status, target.name);
  close(to);
  closedir(from);
}

static bool is_empty(int folder) {
  struct dirent *entry;
  int fd = openat(folder, ".", FOLDER_FLAGS);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  if (list == NULL) fail_job("open", "what the sandbox wrote");
  while ((entry = readdir(list)) != NULL && is_dots(entry->d_name)) continue;
  closedir(list);
  return entry == NULL;
}

static int open_upper(int layers, const char *name) {
  char path[NAME_MAX + 16];
  if (!is_layer_name(name) || snprintf(path, sizeof path, "%s/upper", name) >= (int)sizeof path) return -1;
  int upper = openat(layers, path, FOLDER_FLAGS);
  if (upper < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) fail_job("open", path);
  return upper;
}

int open_overlay(int layers, const char *name) {
  int upper = open_upper(layers, name);
  if (upper < 0 || !is_empty(upper)) return upper;
  close(upper);
  return -1;
}

/* It belongs to whom the whole belongs: a sandbox finds the way to its layer. */
static int make_overlay_folder(int to, const char *name) {
  struct stat whole;
  if (mkdirat(to, name, 0700) < 0 && errno != EEXIST) fail_job("make the folder", name);
  int folder = openat(to, name, FOLDER_FLAGS);
  if (folder < 0 || fstat(to, &whole) < 0 || fchown(folder, whole.st_uid, whole.st_gid) < 0) fail_job("open", name);
  return folder;
}

static void copy_overlay(struct tree_copy *copy, int from, int to, const char *name) {
  int upper = copy->from_frozen ? open_upper(from, name) : open_overlay(from, name);
  if (upper < 0) return;
  int folder = make_overlay_folder(to, name);
  copy_folder(copy, (struct at){upper, "."}, (struct at){folder, "upper"}, 0);
  close(folder);
  close(upper);
}

static void raise_limit_of_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void copy_all(int from, int to, bool from_frozen) {
  struct tree_copy *copy = malloc(sizeof *copy);
  int fd = openat(from, ".", FOLDER_FLAGS);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  if (copy == NULL || list == NULL) fail_job("open", "what the sandbox wrote");
  copy->from_frozen = from_frozen;
  raise_limit_of_files();
  umask(0);
  if (mkdirat(to, LINKS, 0700) < 0 || (copy->links = openat(to, LINKS, FOLDER_FLAGS)) < 0) fail_job("make the folder", LINKS);
  while ((entry = readdir(list)) != NULL)
    if (!is_dots(entry->d_name)) copy_overlay(copy, from, to, entry->d_name);
  closedir(list);
  close(copy->links);
  if (!remove_tree(to, LINKS)) fail_job("remove the folder", LINKS);
  free(copy);
}

void copy_layers(int from, int to) { copy_all(from, to, false); }

void link_layers(int from, int to) { copy_all(from, to, true); }
