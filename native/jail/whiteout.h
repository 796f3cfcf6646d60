/* How overlayfs marks in a layer that a name of the layers below is gone. */
#ifndef BELLJAR_WHITEOUT_H
#define BELLJAR_WHITEOUT_H

#include <stdbool.h>
#include <sys/stat.h>

static inline bool is_whiteout(const struct stat *status) { return S_ISCHR(status->st_mode) && status->st_rdev == 0; }

#endif
