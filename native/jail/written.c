#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "hold.h"
#include "layers.h"

/* The holder gives another mount of the layers, which goes with the descriptor. */
static int open_held_layers(const struct spec *spec) {
  int layers = -1, connection = connect_holder(spec);
  if (connection >= 0 && !ask_for_view(connection, spec, &layers)) layers = -1;
  int error = errno;
  if (connection >= 0) close(connection);
  errno = connection < 0 && error == ECONNREFUSED ? ENOENT : error;
  return layers;
}

int open_written(const struct spec *spec) {
  int layers = spec->storage == STORAGE_TMPFS ? open_held_layers(spec) : open(spec->layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (layers < 0) fail_job("open", "what the sandbox wrote");
  return layers;
}
