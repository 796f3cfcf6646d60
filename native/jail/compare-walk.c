/*
 * Walks two stacks at once. Names that only shared layers have are the same on both sides, and are not looked at, unless a layer of one side
 * hides what lies below it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"

struct walk {
  struct stack *stack;
  const struct spec *spec;
};

static void walk_folder(struct walk *walk, unsigned level);

static bool is_self(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* Something is mounted on the current path: another overlay, or a folder of the system. */
static bool is_mounted_over(const struct walk *walk) {
  const char *target = walk->stack->target, *path = walk->stack->path;
  size_t length = strcmp(target, "/") == 0 ? 0 : strlen(target);
  for (unsigned i = 0; i < walk->spec->step_count; i++) {
    const char *mount = walk->spec->steps[i].target;
    if (strncmp(mount, target, length) == 0 && mount[length] == '/' && strcmp(mount + length + 1, path) == 0) return true;
  }
  return false;
}

static bool is_same_owner(const struct found *one, const struct found *other) {
  return owner_inside(one) == owner_inside(other) && group_inside(one) == group_inside(other);
}

static bool is_same_file(struct walk *walk, unsigned level, const char *name, const struct found found[SIDE_COUNT]) {
  const struct stat *one = &found[SIDE_BEFORE].status, *other = &found[SIDE_AFTER].status;
  if (one->st_size != other->st_size) return false;
  if (one->st_size == 0) return true;
  int before = open_found(walk->stack, level, SIDE_BEFORE, name, &found[SIDE_BEFORE]);
  int after = before < 0 ? -1 : open_found(walk->stack, level, SIDE_AFTER, name, &found[SIDE_AFTER]);
  bool is_same = after >= 0 && is_same_content(before, after, (uint64_t)one->st_size);
  if (before >= 0) close(before);
  if (after >= 0) close(after);
  return is_same;
}

struct links {
  char text[SIDE_COUNT][PATH_MAX];
  size_t length[SIDE_COUNT];
};

/* A link that is gone or has become something else has no text. */
static void read_link(struct walk *walk, unsigned level, enum side side, const char *name, const struct found *found, struct links *links) {
  links->length[side] = 0;
  if (!found->is_there || !S_ISLNK(found->status.st_mode)) return;
  int folder = member_folder(walk->stack, level, side, found->member);
  ssize_t length = folder < 0 ? -1 : readlinkat(folder, name, links->text[side], sizeof links->text[side]);
  if (length > 0) links->length[side] = (size_t)length;
}

static bool is_same_link(const struct links *links) {
  size_t length = links->length[SIDE_BEFORE];
  return length == links->length[SIDE_AFTER] && memcmp(links->text[SIDE_BEFORE], links->text[SIDE_AFTER], length) == 0;
}

/* The same inode with the same times: nothing was changed since the one became the other. */
static bool is_untouched(const struct stat *one, const struct stat *other) {
  bool has_same_times = one->st_ctim.tv_sec == other->st_ctim.tv_sec && one->st_ctim.tv_nsec == other->st_ctim.tv_nsec &&
                        one->st_mtim.tv_sec == other->st_mtim.tv_sec && one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
  return one->st_ino == other->st_ino && one->st_size == other->st_size && has_same_times;
}

static struct attributes attributes[SIDE_COUNT];

/* Programs inside can set attributes of files and folders alone. */
static bool has_attributes(const struct stat *status) { return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode); }

static void read_found_attributes(struct walk *walk, unsigned level, enum side side, const char *name, const struct found *found) {
  bool can = found->is_there && has_attributes(&found->status);
  int fd = can ? open_found(walk->stack, level, side, name, found) : -1;
  read_attributes(fd, &attributes[side]);
  if (fd >= 0) close(fd);
}

static bool is_same(struct walk *walk, unsigned level, const char *name, const struct found found[SIDE_COUNT], const struct links *links) {
  const struct stat *one = &found[SIDE_BEFORE].status, *other = &found[SIDE_AFTER].status;
  if (one->st_mode != other->st_mode || !is_same_owner(&found[SIDE_BEFORE], &found[SIDE_AFTER])) return false;
  if (S_ISLNK(one->st_mode)) return is_same_link(links);
  if (!has_attributes(one)) return one->st_rdev == other->st_rdev;
  if (is_untouched(one, other)) return true;
  for (unsigned side = 0; side < SIDE_COUNT; side++) read_found_attributes(walk, level, (enum side)side, name, &found[side]);
  if (!is_same_attributes(&attributes[SIDE_BEFORE], &attributes[SIDE_AFTER])) return false;
  return S_ISDIR(one->st_mode) || is_same_file(walk, level, name, found);
}

static bool is_folder(const struct found *found) { return found->is_there && S_ISDIR(found->status.st_mode); }

/* Folders have members on the level below; whatever is none has none there. */
static void compare_found(struct walk *walk, unsigned level, const char *name, const struct found found[SIDE_COUNT]) {
  static struct links links;
  bool both = found[SIDE_BEFORE].is_there && found[SIDE_AFTER].is_there;
  for (unsigned side = 0; side < SIDE_COUNT; side++) read_link(walk, level, (enum side)side, name, &found[side], &links);
  bool changed = !both || !is_same(walk, level, name, found, &links);
  bool has_folder = is_folder(&found[SIDE_BEFORE]) || is_folder(&found[SIDE_AFTER]);
  bool too_deep = has_folder && (level + 1 >= LIST_LEVELS_MAX || strlen(walk->stack->path) > LIST_PATH_MAX);
  bool unseen = too_deep && !shares_all(walk->stack, level + 1);
  const struct shown shown[SIDE_COUNT] = {
      {&found[SIDE_BEFORE], links.text[SIDE_BEFORE], links.length[SIDE_BEFORE], &attributes[SIDE_BEFORE]},
      {&found[SIDE_AFTER], links.text[SIDE_AFTER], links.length[SIDE_AFTER], &attributes[SIDE_AFTER]},
  };
  for (unsigned side = 0; (changed || unseen) && side < SIDE_COUNT; side++) read_found_attributes(walk, level, (enum side)side, name, &found[side]);
  if (changed || unseen) answer_change(walk->stack, walk->stack->path, shown, unseen ? CHANGE_UNSEEN : 0);
  if (has_folder && !too_deep) walk_folder(walk, level + 1);
}

static void compare_name(struct walk *walk, unsigned level, const char *name) {
  struct stack *stack = walk->stack;
  struct found found[SIDE_COUNT];
  size_t before = stack->levels[level].path_length, length = strlen(name), start = before > 0 ? before + 1 : 0;
  if (start + length >= sizeof stack->path) refuse("a path is too long"); /* folders with longer paths are not entered */
  if (before > 0) stack->path[before] = '/';
  memcpy(stack->path + start, name, length + 1);
  if (!is_mounted_over(walk)) {
    for (unsigned side = 0; side < SIDE_COUNT; side++) look_up(stack, level, (enum side)side, name, &found[side]);
    stack->levels[level + 1].path_length = start + length;
    if (found[SIDE_BEFORE].is_there || found[SIDE_AFTER].is_there) compare_found(walk, level, name, found);
  }
  stack->path[before] = 0;
}

static bool has_layer(const struct members *members, uint16_t layer) {
  for (unsigned i = 0; i < members->count; i++)
    if (members->layers[i] == layer) return true;
  return false;
}

/* Names of one side's own layers are looked at, and all names if the sides see other shared layers. */
static bool is_listed(const struct stack *stack, unsigned level, enum side side, unsigned member, bool lists_shared) {
  const struct level *at = &stack->levels[level];
  uint16_t layer = at->sides[side].layers[member];
  if (layer < stack->first_shared) return true;
  return lists_shared && !(side == SIDE_AFTER && has_layer(&at->sides[SIDE_BEFORE], layer));
}

/* A member that was listed before has the name: it was looked at. */
static bool was_listed(struct walk *walk, unsigned level, enum side side, unsigned member, const char *name, bool lists_shared) {
  struct stack *stack = walk->stack;
  for (unsigned other = 0; other <= side; other++) {
    unsigned end = other == side ? member : stack->levels[level].sides[other].count;
    for (unsigned i = 0; i < end; i++) {
      struct stat status;
      if (!is_listed(stack, level, (enum side)other, i, lists_shared)) continue;
      int folder = member_folder(stack, level, (enum side)other, i);
      if (folder >= 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
    }
  }
  return false;
}

static DIR *list(struct walk *walk, unsigned level, enum side side, unsigned member) {
  int folder = member_folder(walk->stack, level, side, member);
  int fd = folder < 0 ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && is_absent_error(errno)) return NULL;
  DIR *names = fd < 0 ? NULL : fdopendir(fd);
  if (names == NULL) die("list a folder of a layer");
  return names;
}

static void walk_member(struct walk *walk, unsigned level, enum side side, unsigned member, bool lists_shared) {
  DIR *names = list(walk, level, side, member);
  if (names == NULL) return;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(names);
    if (entry == NULL) break;
    if (is_self(entry->d_name) || was_listed(walk, level, side, member, entry->d_name, lists_shared)) continue;
    compare_name(walk, level, entry->d_name);
  }
  if (errno != 0 && !is_absent_error(errno)) die("list a folder of a layer");
  closedir(names);
}

static void walk_folder(struct walk *walk, unsigned level) {
  if (shares_all(walk->stack, level)) return;
  bool lists_shared = !shares_rest(walk->stack, level);
  close_folders_above(walk->stack, level);
  for (unsigned side = 0; side < SIDE_COUNT; side++)
    for (unsigned i = 0; i < walk->stack->levels[level].sides[side].count; i++)
      if (is_listed(walk->stack, level, (enum side)side, i, lists_shared)) walk_member(walk, level, (enum side)side, i, lists_shared);
}

/* The overlay's own folder. Where a state has nothing of an overlay, the next run makes that folder anew, so nothing is said of it. */
static void compare_roots(struct stack *stack) {
  struct found found[SIDE_COUNT];
  for (unsigned side = 0; side < SIDE_COUNT; side++) {
    look_up_root(stack, (enum side)side, &found[side]);
    if (!found[side].is_there || found[side].layer >= &stack->layers[stack->first_shared]) return;
  }
  for (unsigned side = 0; side < SIDE_COUNT; side++) read_attributes(found[side].layer->root, &attributes[side]);
  const struct shown shown[SIDE_COUNT] = {
      {.found = &found[SIDE_BEFORE], .attributes = &attributes[SIDE_BEFORE]},
      {.found = &found[SIDE_AFTER], .attributes = &attributes[SIDE_AFTER]},
  };
  bool is_same_mode = found[SIDE_BEFORE].status.st_mode == found[SIDE_AFTER].status.st_mode;
  bool is_same_root = is_same_mode && is_same_attributes(&attributes[SIDE_BEFORE], &attributes[SIDE_AFTER]);
  if (!is_same_root || !is_same_owner(&found[SIDE_BEFORE], &found[SIDE_AFTER])) answer_change(stack, "", shown, 0);
}

void compare_stacks(struct stack *stack, const struct spec *spec) {
  struct walk walk = {.stack = stack, .spec = spec};
  compare_roots(stack);
  walk_folder(&walk, 0);
}
