#include "copy-data.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/fs.h>

#include "io.h"

#define PART_BYTES (16u << 20)

static bool cannot(int error) { return error == EXDEV || error == EINVAL || error == EOPNOTSUPP || error == ENOSYS; }

static size_t least(size_t one, size_t other) { return one < other ? one : other; }

/* Returns how many bytes it copied; 0 at the end of the source; -1 with errno set. */
static ssize_t copy_part(const struct data_copy *copy, off_t at, size_t bytes) {
  off_t in = at, out = at;
  ssize_t count = copy_file_range(copy->from, &in, copy->to, &out, bytes, 0);
  if (count >= 0 || !cannot(errno)) return count;
  count = pread(copy->from, copy->room, least(bytes, copy->room_bytes), at);
  if (count > 0 && (lseek(copy->to, at, SEEK_SET) < 0 || !write_whole(copy->to, copy->room, (size_t)count))) return -1;
  return count;
}

static bool copy_stretch(const struct data_copy *copy, off_t start, off_t end) {
  for (off_t at = start; at < end;) {
    ssize_t count = copy_part(copy, at, least((size_t)(end - at), PART_BYTES));
    if (count < 0) return false;
    if (count == 0) return true;
    at += count;
    if (copy->go_on != NULL) copy->go_on(copy->context);
  }
  return true;
}

bool copy_data(const struct data_copy *copy, off_t size) {
  if (size > 0 && ioctl(copy->to, FICLONE, copy->from) == 0) return true;
  for (off_t at = 0; at < size;) {
    off_t data = lseek(copy->from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    if (data < 0) data = at;
    off_t hole = lseek(copy->from, data, SEEK_HOLE);
    if (hole < 0) hole = size;
    if (!copy_stretch(copy, data, hole)) return false;
    at = hole;
  }
  return ftruncate(copy->to, size) == 0;
}
