/* Makes one entry of an archive. A later entry of a name takes the place of an earlier one; a folder is added to. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "unpack.h"

/* Of image layers: what begins so is no file, but says something about one. */
#define WHITEOUT ".wh."
#define WHITEOUT_MARK ".wh..wh."
#define OPAQUE_MARK ".wh..wh..opq"
/* Of files whose owner has no id in a sandbox. */
#define NOBODY 65534u

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* ---- attributes ---- */

bool is_kept_attribute(const char *name) { return begins(name, "user.") && !begins(name, "user.overlay."); }

static void set_attributes(struct unpack *unpack, int file) {
  const struct tar_entry *entry = &unpack->entry;
  for (unsigned i = 0; i < entry->attribute_count; i++) {
    const struct tar_attribute *one = &entry->attributes[i];
    if (!is_kept_attribute(one->name)) continue;
    count_bytes(unpack, one->length);
    if (fsetxattr(file, one->name, one->value, one->length, 0) == 0) continue;
    if (errno == ENOSPC || errno == E2BIG || errno == ERANGE) refuse_archive("an attribute is too large for this file system", entry->path);
    fail_job("set an attribute of", entry->path);
  }
}

static unsigned id_inside(uint64_t id) { return id < SLOT_SIZE ? (unsigned)id : NOBODY; }

/* The mode comes after the owner, whose change takes bits away. */
static void set_owner_and_mode(const struct unpack *unpack, int file) {
  const struct tar_entry *entry = &unpack->entry;
  bool is_set = !unpack->has_ids || fchown(file, id_inside(entry->uid), id_inside(entry->gid)) == 0;
  if (!is_set || fchmod(file, entry->mode) < 0) fail_job("set the owner and mode of", entry->path);
}

/* Of what is never opened. */
static void set_by_name(const struct unpack *unpack, struct at at) {
  const struct tar_entry *entry = &unpack->entry;
  const struct timespec times[2] = {entry->mtime, entry->mtime};
  bool is_set = !unpack->has_ids || fchownat(at.folder, at.name, id_inside(entry->uid), id_inside(entry->gid), AT_SYMLINK_NOFOLLOW) == 0;
  if (is_set && entry->kind != TAR_LINK) is_set = fchmodat(at.folder, at.name, entry->mode, 0) == 0;
  if (!is_set || utimensat(at.folder, at.name, times, AT_SYMLINK_NOFOLLOW) < 0) fail_job("set the attributes of", entry->path);
}

/* ---- what has content ---- */

static void write_part(int file, const uint8_t *bytes, size_t length, const char *shown) {
  while (length > 0) {
    ssize_t written = write(file, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_job("write", shown);
    bytes += written;
    length -= (size_t)written;
  }
}

static int create_file(struct at at) { return openat(at.folder, at.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); }

static void make_file(struct unpack *unpack, struct at at) {
  const struct tar_entry *entry = &unpack->entry;
  const struct timespec times[2] = {entry->mtime, entry->mtime};
  const uint8_t *bytes;
  size_t length;
  int file = create_file(at);
  if (file < 0 && errno == EEXIST) {
    make_room(at);
    file = create_file(at);
  }
  if (file < 0) fail_job("make", entry->path);
  while ((length = take_tar_content(&unpack->tar, &bytes)) > 0) write_part(file, bytes, length, entry->path);
  set_attributes(unpack, file);
  set_owner_and_mode(unpack, file);
  if (futimens(file, times) < 0) fail_job("set the times of", entry->path);
  if (close(file) < 0) fail_job("write", entry->path);
}

static void set_folder(struct unpack *unpack, int folder) {
  set_attributes(unpack, folder);
  set_owner_and_mode(unpack, folder);
  note_folder_time(&unpack->times, folder, unpack->entry.mtime);
  close(folder);
}

/* ---- other entries ---- */

static void make_link(struct unpack *unpack, struct at at) {
  const struct tar_entry *entry = &unpack->entry;
  make_room(at);
  if (symlinkat(entry->link, at.folder, at.name) < 0) fail_job("make the link", entry->path);
  set_by_name(unpack, at);
}

static void make_fifo(struct unpack *unpack, struct at at) {
  make_room(at);
  if (mknodat(at.folder, at.name, S_IFIFO | 0600, 0) < 0) fail_job("make", unpack->entry.path);
  set_by_name(unpack, at);
}

static bool is_same_file(struct at at, const struct stat *other) {
  struct stat status;
  return look_at(at, &status) == THERE_OTHER && status.st_dev == other->st_dev && status.st_ino == other->st_ino;
}

static void make_hard_link(struct unpack *unpack, struct at at) {
  const struct tar_entry *entry = &unpack->entry;
  struct stat status;
  struct at source = find_place(unpack, entry->link);
  if (source.folder < 0 || source.name[0] == 0 || look_at(source, &status) != THERE_OTHER)
    refuse_archive("a hard link names a file that the image does not have", entry->path);
  bool is_there = is_same_file(at, &status);
  if (!is_there) make_room(at);
  if (!is_there && linkat(source.folder, source.name, at.folder, at.name, 0) < 0) {
    if (errno == ENOENT) refuse_archive("a hard link takes the place of the folder of its file", entry->path);
    fail_job("make the hard link", entry->path);
  }
  close(source.folder);
}

/* ---- whiteouts ---- */

/* It hides what lower layers have of the name, and nothing of this layer. */
static void make_whiteout(struct unpack *unpack, struct at at) {
  struct stat status;
  enum there there = look_at(at, &status);
  if (there == THERE_NOTHING && (mknodat(at.folder, at.name, S_IFCHR, 0) < 0 || !mark_whiteouts(at.folder)))
    fail_job("make a whiteout of", unpack->entry.path);
  if (there == THERE_FOLDER) {
    int folder = open_layer_folder(at);
    make_opaque(folder, unpack->entry.path);
    close(folder);
  }
}

static void make_parent_opaque(struct unpack *unpack) {
  const char *path = unpack->entry.path;
  /* The kernel looks at this mark below the root alone. */
  if (strchr(path, '/') == NULL) refuse_archive("it hides all files of the layers below, which is not supported", path);
  int folder = openat(open_place(unpack, path).folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_job("open", path);
  make_opaque(folder, path);
  close(folder);
}

static void hide(struct unpack *unpack, const char *hidden) {
  if (hidden[0] == 0 || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0) refuse_archive("a whiteout names nothing", unpack->entry.path);
  struct at at = open_place(unpack, unpack->entry.path);
  at.name = hidden;
  make_whiteout(unpack, at);
}

/* Such a folder is what old programs kept beside the files of a layer. */
static bool is_in_marked_folder(const char *path) {
  for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
    if (begins(path, WHITEOUT_MARK)) return true;
    if (begins(path, WHITEOUT)) refuse_archive("a folder has the name of a whiteout", path);
  }
  return false;
}

/* True: the entry is none, but says something about others. */
static bool take_whiteout(struct unpack *unpack) {
  const char *path = unpack->entry.path, *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
  if (is_in_marked_folder(path)) return true;
  if (!begins(name, WHITEOUT)) return false;
  if (strcmp(name, OPAQUE_MARK) == 0) make_parent_opaque(unpack);
  else if (!begins(name, WHITEOUT_MARK)) hide(unpack, name + strlen(WHITEOUT));
  return true;
}

void unpack_entry(struct unpack *unpack) {
  const struct tar_entry *entry = &unpack->entry;
  if (take_whiteout(unpack)) return;
  if (entry->kind == TAR_DEVICE) {
    unpack->skipped++;
    return;
  }
  if (entry->path[0] == 0) {
    if (entry->kind != TAR_FOLDER) refuse_archive("the root is no folder", entry->link);
    set_folder(unpack, openat(unpack->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return;
  }
  if (entry->kind == TAR_HARD_LINK) raise_file(unpack, entry->link);
  struct at at = open_place(unpack, entry->path);
  switch (entry->kind) {
    case TAR_FILE: make_file(unpack, at); return;
    case TAR_FOLDER: set_folder(unpack, open_layer_folder(at)); return;
    case TAR_LINK: make_link(unpack, at); return;
    case TAR_HARD_LINK: make_hard_link(unpack, at); return;
    case TAR_FIFO: make_fifo(unpack, at); return;
    case TAR_DEVICE: return;
  }
}
