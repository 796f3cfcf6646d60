/* Names in a tar archive. */
#include <string.h>

#include "tar.h"

static bool is_dots(const char *name, size_t length) { return length == 2 && name[0] == '.' && name[1] == '.'; }

static bool is_nothing(const char *name, size_t length) { return length == 0 || (length == 1 && name[0] == '.'); }

/* A leading slash is the root of the layer, as for tar. */
void clean_tar_path(const char *raw, char clean[PATH_MAX]) {
  size_t end = 0;
  unsigned levels = 0;
  for (const char *name = raw; *name != 0;) {
    size_t length = strcspn(name, "/");
    if (is_dots(name, length)) refuse_archive("a name leads upwards", raw);
    if (length > NAME_MAX) refuse_archive("a name is longer than 255 bytes", raw);
    if (!is_nothing(name, length)) {
      if (end + 1 + length >= PATH_MAX) refuse_archive("a path is too long", raw);
      if (++levels > TAR_LEVELS_MAX) refuse_archive("a path has more than 1000 folders", raw);
      if (end > 0) clean[end++] = '/';
      memcpy(clean + end, name, length);
      end += length;
    }
    name += length + (name[length] == '/');
  }
  clean[end] = 0;
}
