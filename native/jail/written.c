#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "layers.h"

int open_written(const struct spec *spec) {
  int layers = spec->storage == STORAGE_TMPFS ? view_held_layers(spec) : open(spec->layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (layers < 0) fail_job("open", "what the sandbox wrote");
  return layers;
}
