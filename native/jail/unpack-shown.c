/*
 * What an image shows at a path while one of its layers is made: that layer, over those below it, as the kernel's overlay shows them. Archives
 * name folders, links and files of lower layers without having them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "copy-data.h"
#include "unpack.h"
#include "whiteout.h"

#define ROOM_BYTES (64u << 10)
/* The kernel's bound of a list of names and of a value. */
#define ATTRIBUTES_BYTES 65536u

int open_in_layer(int layer, const char *path, int flags) {
  struct open_how how = {
      .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  return (int)syscall(SYS_openat2, layer, path[0] == 0 ? "." : path, &how, sizeof how);
}

static bool is_opaque(int folder) {
  char value = 0;
  return fgetxattr(folder, OPAQUE, &value, sizeof value) == 1 && value == 'y';
}

/* Takes the first name of a path, and returns its folder in place of `folder`. -1: it is none. */
static int step_into(int folder, const char **path) {
  char name[NAME_MAX + 1];
  size_t length = strcspn(*path, "/");
  int next = -1;
  if (length <= NAME_MAX) {
    memcpy(name, *path, length);
    name[length] = 0;
    next = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  close(folder);
  *path += length + 1;
  return next;
}

/* A layer that does not have the path has a folder on the way there that hides what lower layers have. */
static bool hides_below(int layer, const char *path) {
  int folder = open_in_layer(layer, "", O_RDONLY | O_DIRECTORY);
  bool hides = false;
  while (folder >= 0 && !hides && strchr(path, '/') != NULL) {
    folder = step_into(folder, &path);
    hides = folder >= 0 && is_opaque(folder);
  }
  if (folder >= 0) close(folder);
  return hides;
}

struct shown find_shown(const struct unpack *unpack, const char *path) {
  struct shown shown = {.layer = -1};
  for (unsigned i = 0; i <= unpack->below_count; i++) {
    int layer = i == 0 ? unpack->root : unpack->below[i - 1], file = open_in_layer(layer, path, O_PATH);
    if (file < 0 && errno == ENOENT && i < unpack->below_count && !hides_below(layer, path)) continue;
    if (file < 0) break; /* a whiteout, a link or a file is where the path has a folder */
    if (fstat(file, &shown.status) < 0) fail_job("look at", path);
    close(file);
    if (!is_whiteout(&shown.status)) shown.layer = layer;
    break;
  }
  return shown;
}

void read_shown_link(const struct shown *link, const char *path, char text[PATH_MAX]) {
  ssize_t length = readlinkat(link->layer, path, text, PATH_MAX - 1);
  if (length < 0) fail_job("read the link", path);
  text[length] = 0;
}

/* ---- copies of what lower layers have ---- */

static void copy_attributes(struct unpack *unpack, int from, int to, const char *shown) {
  static char names[ATTRIBUTES_BYTES], value[ATTRIBUTES_BYTES];
  ssize_t length = flistxattr(from, names, sizeof names);
  if (length < 0 && errno != ENOTSUP) fail_job("list the attributes of", shown);
  for (const char *name = names; name < names + length; name += strlen(name) + 1) {
    if (!is_kept_attribute(name)) continue;
    ssize_t bytes = fgetxattr(from, name, value, sizeof value);
    if (bytes < 0) fail_job("read an attribute of", shown);
    count_bytes(unpack, (uint64_t)bytes);
    if (fsetxattr(to, name, value, (size_t)bytes, 0) < 0) fail_job("copy an attribute of", shown);
  }
}

/* With one id everything belongs to it. */
static bool give_as(const struct unpack *unpack, struct at at, const struct stat *like) {
  return !unpack->has_ids || fchownat(at.folder, at.name, like->st_uid, like->st_gid, at.name[0] == 0 ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW) == 0;
}

static void look_alike(struct unpack *unpack, const struct shown *covered, const char *path, int to) {
  int from = open_in_layer(covered->layer, path, O_RDONLY);
  if (from < 0) fail_job("open", path);
  copy_attributes(unpack, from, to, path);
  if (!give_as(unpack, (struct at){to, ""}, &covered->status) || fchmod(to, covered->status.st_mode & 07777) < 0) fail_job("set the owner and mode of", path);
  close(from);
}

void copy_folder(struct unpack *unpack, const struct shown *covered, const char *path, int folder) {
  look_alike(unpack, covered, path, folder);
  note_folder_time(&unpack->times, folder, covered->status.st_mtim);
}

static void copy_file(struct unpack *unpack, const struct shown *covered, const char *path, struct at at) {
  static uint8_t room[ROOM_BYTES];
  const struct timespec times[2] = {covered->status.st_atim, covered->status.st_mtim};
  int from = open_in_layer(covered->layer, path, O_RDONLY);
  int to = openat(at.folder, at.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (from < 0 || to < 0) fail_job("make", path);
  struct data_copy data = {.from = from, .to = to, .room = room, .room_bytes = sizeof room};
  if (!copy_data(&data, covered->status.st_size)) fail_job("copy", path);
  look_alike(unpack, covered, path, to);
  if (futimens(to, times) < 0) fail_job("set the times of", path);
  close(from);
  if (close(to) < 0) fail_job("write", path);
}

static void copy_link(struct unpack *unpack, const struct shown *covered, const char *path, struct at at) {
  const struct timespec times[2] = {covered->status.st_atim, covered->status.st_mtim};
  char text[PATH_MAX];
  read_shown_link(covered, path, text);
  if (symlinkat(text, at.folder, at.name) < 0) fail_job("make the link", path);
  if (!give_as(unpack, at, &covered->status) || utimensat(at.folder, at.name, times, AT_SYMLINK_NOFOLLOW) < 0) fail_job("set the attributes of", path);
}

/* It counts as an entry of the archive does. */
void raise_file(struct unpack *unpack, const char *path) {
  char resolved[PATH_MAX];
  resolve_place(unpack, path, resolved);
  struct shown shown = find_shown(unpack, resolved);
  bool is_file = S_ISREG(shown.status.st_mode), is_link = S_ISLNK(shown.status.st_mode);
  if (shown.layer < 0 || shown.layer == unpack->root || (!is_file && !is_link)) return;
  count_entry(unpack);
  count_bytes(unpack, (uint64_t)shown.status.st_size);
  struct at at = open_place(unpack, resolved);
  if (is_file) copy_file(unpack, &shown, resolved, at);
  else copy_link(unpack, &shown, resolved, at);
}
