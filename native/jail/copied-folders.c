/* The overlays whose folders a sandbox renames although they lie in a lower layer (renames.h). */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "jail.h"

/* Returns the folder's source, or -1. */
static int find_copied_source(const struct spec *spec, const struct step *step) {
  for (unsigned i = 0; step->kind == SETUP_OVERLAY && i < step->source_count; i++)
    if (spec->sources[step->first_source + i].ids == IDS_WORKSPACE) return (int)(step->first_source + i);
  return -1;
}

void keep_lower_folder(const struct spec *spec, const int *sources, struct copied_folders *copied) {
  *copied = (struct copied_folders){.lower = -1};
  for (unsigned i = 0; i < spec->step_count; i++) {
    int source = find_copied_source(spec, &spec->steps[i]);
    if (source < 0) continue;
    copied->lower = fcntl(sources[source], F_DUPFD_CLOEXEC, 0);
    copied->target = spec->steps[i].target;
    if (copied->lower < 0) die_at("keep open", copied->target);
    return;
  }
}

/* Anywhere but on btrfs, what is the writable layer now may become a lower one (raise.h). */
static bool may_have_lower_folders(const struct spec *spec, const struct step *step) {
  return step->kind == SETUP_OVERLAY && (step->renames || spec->storage != STORAGE_BTRFS || find_copied_source(spec, step) >= 0);
}

static dev_t device_of(const char *target) {
  struct stat status;
  return stat(target, &status) == 0 ? status.st_dev : 0;
}

void find_copied_folders(const struct spec *spec, struct copied_folders *copied) {
  copied->since = time(NULL);
  for (unsigned i = 0; i < spec->step_count; i++) {
    if (!may_have_lower_folders(spec, &spec->steps[i])) continue;
    copied->targets[copied->count] = spec->steps[i].target;
    copied->devices[copied->count++] = device_of(spec->steps[i].target);
  }
}

bool find_copied_folders_again(struct copied_folders *copied) {
  bool has_changed = false;
  for (unsigned i = 0; i < copied->count; i++) {
    dev_t device = device_of(copied->targets[i]);
    has_changed |= device != copied->devices[i];
    copied->devices[i] = device;
  }
  if (has_changed) copied->since = time(NULL);
  return has_changed;
}
