/* Looks names up in a stack of layers, as an overlay does. Nothing follows a link, at any depth. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "compare.h"
#include "whiteout.h"

/* So many folders are open at most when the walk goes down, and as many again on the way. */
#define OPEN_FOLDERS 128u
#define OPAQUE "user.overlay.opaque"

bool is_absent_error(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES || error == EXDEV || error == ESTALE || error == EPERM;
}

/* Below the layer, through folders alone: whoever exchanges one for a link gains nothing. Not into other file systems of the host. */
static int open_below(int folder, const char *path, uint64_t flags) {
  struct open_how how = {
      .flags = flags | O_CLOEXEC | O_NOFOLLOW,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
  if (fd < 0 && errno == EAGAIN) fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how); /* something was renamed meanwhile */
  if (fd < 0 && errno == EAGAIN) errno = ENOENT;
  return fd;
}

int member_folder(struct stack *stack, unsigned level, enum side side, unsigned member) {
  struct members *members = &stack->levels[level].sides[side];
  int *folder = &members->folders[member];
  if (*folder >= 0) return *folder;
  char *end = &stack->path[stack->levels[level].path_length], kept = *end;
  *end = 0;
  *folder = open_below(stack->layers[members->layers[member]].root, stack->path[0] == 0 ? "." : stack->path, O_RDONLY | O_DIRECTORY);
  *end = kept;
  if (*folder >= 0) stack->open++;
  else if (!is_absent_error(errno)) die("open a folder of a layer");
  return *folder;
}

static void close_members(struct stack *stack, struct members *members) {
  for (unsigned i = 0; i < members->count; i++) {
    if (members->folders[i] < 0) continue;
    close(members->folders[i]);
    members->folders[i] = -1;
    stack->open--;
  }
}

void close_folders_above(struct stack *stack, unsigned level) {
  if (stack->open <= OPEN_FOLDERS) return;
  for (unsigned i = 0; i < level; i++)
    for (unsigned side = 0; side < SIDE_COUNT; side++) close_members(stack, &stack->levels[i].sides[side]);
}

static void clear_members(struct stack *stack, struct members *members) {
  close_members(stack, members);
  members->count = 0;
}

static void add_member(struct members *members, uint16_t layer) {
  if (members->count == STACK_LAYERS_MAX) refuse("a state has too many layers");
  members->folders[members->count] = -1;
  members->layers[members->count++] = layer;
}

/* It hides the folders of its name below. */
static bool is_opaque(int folder, const char *name) {
  char value = 0;
  int fd = open_below(folder, name, O_RDONLY | O_DIRECTORY);
  if (fd < 0 && !is_absent_error(errno)) die("open a folder of a layer");
  bool opaque = fd >= 0 && fgetxattr(fd, OPAQUE, &value, 1) == 1 && value == 'y';
  if (fd >= 0) close(fd);
  return opaque;
}

void look_up(struct stack *stack, unsigned level, enum side side, const char *name, struct found *found) {
  const struct members *members = &stack->levels[level].sides[side];
  struct members *below = level == LIST_LEVELS_MAX ? NULL : &stack->levels[level + 1].sides[side];
  found->is_there = false;
  if (below != NULL) clear_members(stack, below);
  for (unsigned i = 0; i < members->count; i++) {
    struct stat status;
    int folder = member_folder(stack, level, side, i);
    if (folder < 0) continue;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (!is_absent_error(errno)) die("look at a name of a layer");
      continue;
    }
    if (is_whiteout(&status) || (found->is_there && !S_ISDIR(status.st_mode))) return;
    if (!found->is_there) *found = (struct found){.is_there = true, .member = i, .layer = &stack->layers[members->layers[i]], .status = status};
    if (!S_ISDIR(status.st_mode)) return;
    if (below != NULL) add_member(below, members->layers[i]);
    if (i + 1 < members->count && is_opaque(folder, name)) return;
  }
}

void look_up_root(struct stack *stack, enum side side, struct found *found) {
  found->is_there = false;
  const struct members *members = &stack->levels[0].sides[side];
  if (members->count == 0) return;
  const struct layer *top = &stack->layers[members->layers[0]];
  *found = (struct found){.is_there = true, .layer = top};
  if (fstat(top->root, &found->status) < 0) die("look at a layer");
}

int open_found(struct stack *stack, unsigned level, enum side side, const char *name, const struct found *found) {
  struct stat status;
  int folder = member_folder(stack, level, side, found->member);
  if (folder < 0) return -1;
  /* A pipe that took the file's place meanwhile does not hold it up. */
  int fd = open_below(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  if (fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == (found->status.st_mode & S_IFMT)) return fd;
  close(fd);
  errno = ENOENT;
  return -1;
}

static bool is_shared(const struct stack *stack, uint16_t layer) { return layer >= stack->first_shared; }

static unsigned first_shared_member(const struct stack *stack, const struct members *members) {
  unsigned i = 0;
  while (i < members->count && !is_shared(stack, members->layers[i])) i++;
  return i;
}

bool shares_rest(const struct stack *stack, unsigned level) {
  const struct members *one = &stack->levels[level].sides[SIDE_BEFORE], *other = &stack->levels[level].sides[SIDE_AFTER];
  unsigned first = first_shared_member(stack, one), second = first_shared_member(stack, other);
  size_t count = one->count - first;
  return count == other->count - second && memcmp(&one->layers[first], &other->layers[second], count * sizeof one->layers[0]) == 0;
}

bool shares_all(const struct stack *stack, unsigned level) {
  const struct level *at = &stack->levels[level];
  bool has_own = first_shared_member(stack, &at->sides[SIDE_BEFORE]) > 0 || first_shared_member(stack, &at->sides[SIDE_AFTER]) > 0;
  return !has_own && shares_rest(stack, level);
}

struct place {
  int folder;
  const char *path;
  enum ids ids;
};

/* Returns its index. -1: what a frozen state has nothing of has no folder there. */
static int add_layer(struct stack *stack, struct place place) {
  struct layer *layer = &stack->layers[stack->count];
  struct stat status;
  if (stack->count == SIDE_COUNT * STACK_LAYERS_MAX) refuse("the states have too many layers");
  layer->root = openat(place.folder, place.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (layer->root < 0 && errno == ENOENT && place.ids == IDS_LAYER) return -1;
  if (layer->root < 0 || fstat(layer->root, &status) < 0) die_at("open a layer:", place.path);
  layer->ids = place.ids;
  layer->is_mapped = stack->is_mapped;
  layer->owner = status.st_uid;
  layer->group = status.st_gid;
  return (int)stack->count++;
}

/* Of a layer that lies with the writable ones, the path begins there. */
static struct place place_of(const struct source *source, int written) {
  if (source->ids == IDS_HELD) return (struct place){written, source->path + 1, IDS_LAYER};
  return (struct place){AT_FDCWD, source->path, source->ids};
}

static void add_to(struct stack *stack, enum side side, int layer) {
  if (layer >= 0) add_member(&stack->levels[0].sides[side], (uint16_t)layer);
}

static const struct source *source_of(const struct compare_request *request, enum side side, unsigned step, unsigned index) {
  const struct spec *spec = &request->specs[side];
  return &spec->sources[spec->steps[step].first_source + index];
}

static bool is_same_sandbox(const struct compare_request *request) {
  return strcmp(request->specs[SIDE_BEFORE].id, request->specs[SIDE_AFTER].id) == 0;
}

/* How many of the lowest layers are the same ones. */
static unsigned count_shared(const struct compare_request *request, unsigned step) {
  unsigned one = request->specs[SIDE_BEFORE].steps[step].source_count, other = request->specs[SIDE_AFTER].steps[step].source_count, shared = 0;
  while (shared < one && shared < other) {
    const struct source *left = source_of(request, SIDE_BEFORE, step, one - shared - 1), *right = source_of(request, SIDE_AFTER, step, other - shared - 1);
    if (left->ids != right->ids || strcmp(left->path, right->path) != 0 || (left->ids == IDS_HELD && !is_same_sandbox(request))) break;
    shared++;
  }
  return shared;
}

static void add_written(struct stack *stack, enum side side, const struct step *step, int written) {
  int above = open_below(written, step->name, O_PATH | O_DIRECTORY);
  if (above < 0 && errno == ENOENT) return;
  if (above < 0) die_at("open what was written to", step->target);
  add_to(stack, side, add_layer(stack, (struct place){above, "upper", IDS_LAYER}));
  close(above);
}

void open_stack(struct stack *stack, const struct compare_request *request, unsigned step, const int written[SIDE_COUNT]) {
  unsigned sides = request->path == NULL ? SIDE_COUNT : 1u, shared = request->path == NULL ? count_shared(request, step) : 0;
  memset(stack, 0, sizeof *stack);
  stack->is_mapped = request->specs[SIDE_BEFORE].id_map != ID_MAP_SLOT;
  stack->target = request->specs[SIDE_BEFORE].steps[step].target;
  for (unsigned side = 0; side < sides; side++) {
    const struct step *overlay = &request->specs[side].steps[step];
    if (request->specs[side].has_layers) add_written(stack, (enum side)side, overlay, written[side]);
    for (unsigned i = 0; i < overlay->source_count - shared; i++) {
      const struct source *source = source_of(request, (enum side)side, step, i);
      add_to(stack, (enum side)side, add_layer(stack, place_of(source, written[side])));
    }
  }
  stack->first_shared = stack->count;
  for (unsigned i = 0; i < shared; i++) {
    const struct source *source = source_of(request, SIDE_BEFORE, step, request->specs[SIDE_BEFORE].steps[step].source_count - shared + i);
    int layer = add_layer(stack, place_of(source, written[SIDE_BEFORE]));
    for (unsigned side = 0; side < sides; side++) add_to(stack, (enum side)side, layer);
  }
}

void close_stack(struct stack *stack) {
  for (unsigned i = 0; i <= LIST_LEVELS_MAX; i++)
    for (unsigned side = 0; side < SIDE_COUNT; side++) clear_members(stack, &stack->levels[i].sides[side]);
  for (unsigned i = 0; i < stack->count; i++) close(stack->layers[i].root);
}
