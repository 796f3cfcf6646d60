/*
 * Finds the place of an entry beneath the layer's root. Links lead to where they would in a root of their own, as for other programs that unpack
 * layers; those of lower layers too.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "unpack.h"
#include "whiteout.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PLACE_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FOLLOWED_MAX 40u

enum there look_at(struct at at, struct stat *status) {
  if (fstatat(at.folder, at.name, status, AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno != ENOENT) fail_job("look at", at.name);
    return THERE_NOTHING;
  }
  if (S_ISDIR(status->st_mode)) return THERE_FOLDER;
  return is_whiteout(status) ? THERE_WHITEOUT : THERE_OTHER;
}

/* ---- links ---- */

/* What is left of a path, and how far it was resolved: names alone, none of them a link. */
struct resolving {
  char rest[PATH_MAX], done[PATH_MAX];
  unsigned followed, levels;
  bool is_absent; /* no layer has what `done` leads to */
};

static void go_up(struct resolving *path) {
  char *slash = strrchr(path->done, '/');
  if (path->levels > 0) path->levels--;
  *(slash == NULL ? path->done : slash) = 0;
  path->is_absent = false;
}

static void go_down(struct resolving *path, const char *name, size_t length) {
  size_t end = strlen(path->done);
  if (end + 1 + length >= PATH_MAX || ++path->levels > TAR_LEVELS_MAX) refuse_archive("a link leads too deep", name);
  if (end > 0) path->done[end++] = '/';
  memcpy(path->done + end, name, length);
  path->done[end + length] = 0;
}

static void follow(struct resolving *path, const char *text, const char *after) {
  char rest[PATH_MAX];
  size_t length = strlen(text), more = strlen(after);
  if (++path->followed > FOLLOWED_MAX) refuse_archive("links lead round in a circle", path->done);
  if (length + 1 + more >= PATH_MAX) refuse_archive("links lead to a path that is too long", path->done);
  memcpy(rest, text, length);
  rest[length] = '/';
  memcpy(rest + length + 1, after, more + 1);
  memcpy(path->rest, rest, length + more + 2);
  go_up(path);
  if (text[0] != '/') return;
  path->done[0] = 0;
  path->levels = 0;
}

/* False: the name that `done` ends with is no link, or not there. */
static bool read_link(const struct unpack *unpack, struct resolving *path, char text[PATH_MAX]) {
  struct shown shown = {.layer = -1};
  if (!path->is_absent) shown = find_shown(unpack, path->done);
  path->is_absent = shown.layer < 0;
  bool is_link = !path->is_absent && S_ISLNK(shown.status.st_mode);
  if (is_link) read_shown_link(&shown, path->done, text);
  return is_link;
}

static void resolve_links(const struct unpack *unpack, struct resolving *path) {
  char text[PATH_MAX];
  const char *name = path->rest;
  while (*name != 0) {
    size_t length = strcspn(name, "/");
    const char *after = name + length + (name[length] == '/');
    bool is_up = length == 2 && name[0] == '.' && name[1] == '.', is_name = length > 0 && !is_up && !(length == 1 && name[0] == '.');
    if (is_up) go_up(path);
    if (is_name) go_down(path, name, length);
    if (is_name && read_link(unpack, path, text)) {
      follow(path, text, after);
      name = path->rest;
    } else name = after;
  }
}

/* ---- folders ---- */

void make_opaque(int folder, const char *shown) {
  if (fsetxattr(folder, OPAQUE, "y", 1, 0) < 0) fail_job("make opaque:", shown);
}

void make_room(struct at at) {
  struct stat status;
  enum there there = look_at(at, &status);
  if (there == THERE_NOTHING) return;
  if (there == THERE_FOLDER ? !remove_tree(at.folder, at.name) : unlinkat(at.folder, at.name, 0) < 0) fail_job("replace", at.name);
}

int open_layer_folder(struct at at) {
  struct stat status;
  enum there there = mkdirat(at.folder, at.name, 0755) == 0 ? THERE_NOTHING : THERE_FOLDER;
  if (there == THERE_FOLDER && errno != EEXIST) fail_job("make the folder", at.name);
  if (there == THERE_FOLDER) there = look_at(at, &status);
  bool replaces = there == THERE_WHITEOUT || there == THERE_OTHER;
  if (replaces) make_room(at);
  if (replaces && mkdirat(at.folder, at.name, 0755) < 0) fail_job("make the folder", at.name);
  int folder = openat(at.folder, at.name, FOLDER_FLAGS);
  if (folder < 0) fail_job("open", at.name);
  if (replaces) make_opaque(folder, at.name);
  return folder;
}

struct parents {
  char *path;    /* down to the present folder */
  bool is_below; /* a lower layer may have it */
};

/* A folder that no entry has told of. Of one that a lower layer has it changes nothing. */
static void make_untold_folder(struct unpack *unpack, struct at at, struct parents *parents) {
  struct shown covered = {.layer = -1};
  if (parents->is_below) covered = find_shown(unpack, parents->path);
  parents->is_below = covered.layer >= 0 && S_ISDIR(covered.status.st_mode);
  count_entry(unpack);
  int folder = open_layer_folder(at);
  if (parents->is_below) copy_folder(unpack, &covered, parents->path, folder);
  close(folder);
}

/* A file is in nobody's way but the archive's own. */
static int make_parent(struct unpack *unpack, struct at at, struct parents *parents) {
  struct stat status;
  enum there there = look_at(at, &status);
  if (there == THERE_OTHER) refuse_archive("an entry lies in what is no folder", at.name);
  if (there != THERE_FOLDER) make_untold_folder(unpack, at, parents);
  int folder = openat(at.folder, at.name, PLACE_FLAGS);
  if (folder < 0) fail_job("open", at.name);
  close(at.folder);
  return folder;
}

static int make_parents(struct unpack *unpack, char *path) {
  struct parents parents = {.path = path, .is_below = unpack->below_count > 0};
  int folder = openat(unpack->root, ".", PLACE_FLAGS);
  if (folder < 0) fail_job("open", "the layer");
  for (char *name = path; *name != 0;) {
    char *end = name + strcspn(name, "/");
    bool is_last = *end == 0;
    *end = 0;
    folder = make_parent(unpack, (struct at){folder, name}, &parents);
    if (!is_last) *end++ = '/';
    name = end;
  }
  return folder;
}

/* Returns the entry's own name. The rest is the path of its folder. */
static const char *split_path(const char *path, char folder[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  memcpy(folder, path, length);
  folder[length] = 0;
  return slash == NULL ? path : slash + 1;
}

static int open_parent(struct unpack *unpack, const char *path, bool makes) {
  struct resolving resolving = {.followed = 0};
  int folder = open_in_layer(unpack->root, path, PLACE_FLAGS);
  if (folder >= 0) return folder;
  memcpy(resolving.rest, path, strlen(path) + 1);
  resolve_links(unpack, &resolving);
  return makes ? make_parents(unpack, resolving.done) : open_in_layer(unpack->root, resolving.done, PLACE_FLAGS);
}

struct at open_place(struct unpack *unpack, const char *path) {
  char folder[PATH_MAX];
  const char *name = split_path(path, folder);
  if (unpack->parent >= 0 && strcmp(folder, unpack->parent_path) == 0) return (struct at){unpack->parent, name};
  if (unpack->parent >= 0) close(unpack->parent);
  unpack->parent = open_parent(unpack, folder, true);
  memcpy(unpack->parent_path, folder, strlen(folder) + 1);
  return (struct at){unpack->parent, name};
}

struct at find_place(struct unpack *unpack, const char *path) {
  char folder[PATH_MAX];
  const char *name = split_path(path, folder);
  return (struct at){open_parent(unpack, folder, false), name};
}

void resolve_place(const struct unpack *unpack, const char *path, char resolved[PATH_MAX]) {
  struct resolving resolving = {.followed = 0};
  const char *name = split_path(path, resolving.rest);
  resolve_links(unpack, &resolving);
  if (name[0] != 0) go_down(&resolving, name, strlen(name));
  memcpy(resolved, resolving.done, strlen(resolving.done) + 1);
}
