/* The layers of the overlays that a raise makes, on the stage. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "io.h"
#include "move-entries.h"
#include "raise.h"
#include "stage.h"

#define SHORT_PATH 160

static int open_folder(const char *path) {
  int fd = open(path, FOLDER_FLAGS);
  if (fd < 0) die_at("open", path);
  return fd;
}

/* The folder of the overlay itself shows what its topmost layer has. The marks of the mount that was are not the new one's. */
static void make_like(const char *old, const char *fresh) {
  static const char *const MARKS[] = {"user.overlay.origin", "user.overlay.impure", "user.overlay.opaque"};
  struct pair pair = {.from = open_folder(old), .to = open_folder(fresh)};
  if (fstat(pair.from, &pair.like) < 0 || !make_alike(&pair)) die_at("set the attributes of", fresh);
  for (size_t i = 0; i < sizeof MARKS / sizeof MARKS[0]; i++) fremovexattr(pair.to, MARKS[i]);
  close_pair(&pair);
}

void make_next(const struct step *step) {
  char old[SHORT_PATH], path[SHORT_PATH];
  snprintf(path, sizeof path, STORAGE "/" NEXT "/%.32s", step->name);
  make_folder(path, 0700);
  snprintf(path, sizeof path, STORAGE "/" NEXT "/%.32s/work", step->name);
  make_folder(path, 0700);
  snprintf(old, sizeof old, STORAGE "/%.32s/upper", step->name);
  snprintf(path, sizeof path, STORAGE "/" NEXT "/%.32s/upper", step->name);
  make_folder(path, 0700);
  make_like(old, path);
}

void place_layer(const struct step *step, const char *folder, unsigned number) {
  char path[SHORT_PATH], name[LOWER_NAME_MAX];
  snprintf(path, sizeof path, STORAGE "/%s%.32s/upper", folder, step->name);
  name_lower(step->name, number, name);
  int layer = clone_mount(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  make_read_only(layer, name);
  make_folder(name, 0700);
  attach_mount(layer, open_on_stage(name), "the stage");
}
