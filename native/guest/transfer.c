/* READ and WRITE: the bytes of one regular file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "paths.h"
#include "work.h"

#define TEMPORARY_TRIES 100
/* The block of common file systems. */
#define HOLE_BYTES 4096u

static void require_file(struct work *work, const struct stat *status, const char *path) {
  errno = EISDIR;
  if (S_ISDIR(status->st_mode)) work_fail(work, "open", path);
  if (!S_ISREG(status->st_mode)) work_refuse(work, GUEST_ERROR_NOT_SUPPORTED, "the path is no regular file: only those are read and written");
}

static int open_to_read(struct work *work, struct stat *status) {
  const char *path = work->request->path;
  /* Checks the type before the open: opening a device may have an effect. */
  if (stat(path, status) != 0) work_fail(work, "open", path);
  require_file(work, status, path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, status) != 0) work_fail(work, "open", path);
  require_file(work, status, path);
  return fd;
}

void serve_read(struct work *work) {
  const struct request *request = work->request;
  struct stat status;
  int fd = open_to_read(work, &status);
  struct field_writer fields = work_fields(work);
  put_entry(work, &fields, &(struct place){AT_FDCWD, request->path, request->path}, &status);
  work_send(work, FRAME_ENTRY, &fields);
  uint64_t left = has_field(request, TAG_LIMIT) ? request->limit : UINT64_MAX;
  if (request->offset > INT64_MAX) left = 0;
  if (left > 0 && lseek(fd, (off_t)request->offset, SEEK_SET) < 0) work_fail(work, "seek in", request->path);
  while (left > 0) {
    ssize_t count = read(fd, work->payload, left < sizeof work->payload ? (size_t)left : sizeof work->payload);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) work_fail(work, "read", request->path);
    if (count == 0) break;
    struct field_writer data = {work->payload, sizeof work->payload, (size_t)count, false};
    work_send(work, FRAME_DATA, &data);
    left -= (uint64_t)count;
  }
  struct field_writer none = work_fields(work);
  work_send(work, FRAME_END, &none);
  work_done(work, NULL);
}

struct target {
  int fd;
  /* The file that is written. An atomic write renames it at the end. */
  char path[PATH_MAX];
  char final[PATH_MAX];
};

static _Noreturn void fail_write(struct work *work, const struct target *target, const char *step) {
  int error = errno;
  if (target->final[0] != 0) unlink(target->path);
  errno = error;
  work_fail(work, step, work->request->path);
}

static mode_t wanted_mode(const struct work *work) { return has_field(work->request, TAG_MODE) ? work_mode(work, work->request->mode) : 0644; }

/* If the path is a link, the file that it leads to is replaced. */
static void find_final(struct work *work, struct target *target, const struct stat *old) {
  const char *path = work->request->path;
  int end = old == NULL ? -1 : open(path, O_PATH | O_CLOEXEC);
  if (end >= 0) {
    if (!path_of(end, target->final, sizeof target->final)) work_fail(work, "resolve", path);
    close(end);
    return;
  }
  if (strlen(path) >= sizeof target->final) {
    errno = ENAMETOOLONG;
    work_fail(work, "open", path);
  }
  memcpy(target->final, path, strlen(path) + 1);
}

static void open_temporary(struct work *work, struct target *target, mode_t mode) {
  char folder[PATH_MAX];
  if (!parent_of(target->final, folder, sizeof folder)) work_fail(work, "open", target->final);
  for (int i = 0; i < TEMPORARY_TRIES; i++) {
    int length = snprintf(target->path, sizeof target->path, "%s/.belljar-%d-%d.tmp", folder, getpid(), i);
    errno = ENAMETOOLONG;
    if (length < 0 || (size_t)length >= sizeof target->path) break;
    target->fd = open(target->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode & 0777);
    if (target->fd >= 0 || errno != EEXIST) break;
  }
  if (target->fd < 0) work_fail(work, "write beside", work->request->path);
  if (fchmod(target->fd, mode) != 0) fail_write(work, target, "set the mode of");
}

static void open_in_place(struct work *work, struct target *target, const struct stat *old) {
  const struct request *request = work->request;
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (has_flag(request, FLAG_APPEND)) flags |= O_APPEND;
  else if (!has_flag(request, FLAG_KEEP_REST) && !has_field(request, TAG_OFFSET)) flags |= O_TRUNC;
  if (has_flag(request, FLAG_EXCLUSIVE)) flags |= O_EXCL;
  target->fd = open(request->path, flags, wanted_mode(work) & 0777);
  struct stat status;
  if (target->fd < 0 || fstat(target->fd, &status) != 0) work_fail(work, "open", request->path);
  require_file(work, &status, request->path);
  bool sets_mode = has_field(request, TAG_MODE) || old == NULL;
  if (sets_mode && fchmod(target->fd, wanted_mode(work)) != 0) work_fail(work, "set the mode of", request->path);
  if (request->offset > INT64_MAX || lseek(target->fd, (off_t)request->offset, SEEK_SET) < 0) work_fail(work, "seek in", request->path);
}

static void open_target(struct work *work, struct target *target) {
  const struct request *request = work->request;
  char folder[PATH_MAX];
  bool parents = has_flag(request, FLAG_PARENTS);
  if (parents && (!parent_of(request->path, folder, sizeof folder) || !make_folders(folder))) work_fail(work, "make the folders above", request->path);
  struct stat status;
  bool there = stat(request->path, &status) == 0;
  if (!there && errno != ENOENT) work_fail(work, "open", request->path);
  if (there) require_file(work, &status, request->path);
  /* A rename needs no right to the old file. All the same, a file that the user may not write is not replaced. */
  if (there && access(request->path, W_OK) != 0) work_fail(work, "open", request->path);
  errno = EEXIST;
  if (there && has_flag(request, FLAG_EXCLUSIVE)) work_fail(work, "create", request->path);
  bool in_place = !has_flag(request, FLAG_ATOMIC) || has_flag(request, FLAG_APPEND) || has_flag(request, FLAG_KEEP_REST) || has_field(request, TAG_OFFSET);
  /* A write through a dangling link makes the file that it names. */
  struct stat link;
  if (in_place || (!there && lstat(request->path, &link) == 0)) {
    open_in_place(work, target, there ? &status : NULL);
    return;
  }
  find_final(work, target, there ? &status : NULL);
  open_temporary(work, target, there && !has_field(request, TAG_MODE) ? work_mode(work, status.st_mode) : wanted_mode(work));
}

/* Reads the payload of the next frame into work->payload. False at END. If the host goes away before END, an atomic write is undone. */
static bool take_data(struct work *work, const struct target *target, size_t *length) {
  uint8_t bytes[FRAME_HEADER_BYTES];
  struct frame_header header;
  bool came = read_whole(work->fd, bytes, sizeof bytes);
  bool fits = came && parse_frame_header(bytes, &header) && header.channel == 0 && (header.type == FRAME_DATA || (header.type == FRAME_END && header.length == 0));
  if (fits && header.type == FRAME_END) return false;
  bool whole = fits && read_whole(work->fd, work->payload, header.length);
  if (whole) {
    *length = header.length;
    return true;
  }
  if (target->final[0] != 0) unlink(target->path);
  if (!came || fits) _exit(1);
  work_refuse(work, GUEST_ERROR_BAD_REQUEST, "WRITE takes DATA and END of channel 0 alone");
}

static void finish(struct work *work, struct target *target, uint64_t size) {
  const struct request *request = work->request;
  if (has_field(request, TAG_OFFSET) && !has_flag(request, FLAG_KEEP_REST | FLAG_APPEND) && ftruncate(target->fd, (off_t)(request->offset + size)) != 0) {
    work_fail(work, "cut off the rest of", request->path);
  }
  /* Some file systems report a lack of room only at this point. */
  if (close(target->fd) != 0) fail_write(work, target, "write");
  if (target->final[0] == 0) return;
  unsigned flags = has_flag(request, FLAG_EXCLUSIVE) ? RENAME_NOREPLACE : 0;
  if (renameat2(AT_FDCWD, target->path, AT_FDCWD, target->final, flags) != 0) fail_write(work, target, "replace");
}

static bool is_zero(const uint8_t *bytes, size_t length) { return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0); }

/* Blocks of zeros become holes. The file is new, so nothing lies there. */
static bool write_sparse(int fd, const uint8_t *bytes, size_t length, uint64_t at) {
  for (size_t done = 0; done < length;) {
    size_t left = length - done, block = HOLE_BYTES - (size_t)((at + done) % HOLE_BYTES);
    if (block > left) block = left;
    bool skips = is_zero(&bytes[done], block);
    if (skips ? lseek(fd, (off_t)block, SEEK_CUR) < 0 : !write_whole(fd, &bytes[done], block)) return false;
    done += block;
  }
  return true;
}

void serve_write(struct work *work) {
  struct target target = {.fd = -1};
  open_target(work, &target);
  bool is_sparse = has_flag(work->request, FLAG_SPARSE) && target.final[0] != 0;
  uint64_t size = 0;
  size_t length = 0;
  while (take_data(work, &target, &length)) {
    bool wrote = is_sparse ? write_sparse(target.fd, work->payload, length, size) : write_whole(target.fd, work->payload, length);
    if (!wrote) fail_write(work, &target, "write");
    size += length;
  }
  if (is_sparse && ftruncate(target.fd, (off_t)size) != 0) fail_write(work, &target, "write");
  finish(work, &target, size);
  struct field_writer fields = work_fields(work);
  put_number(&fields, TAG_SIZE, size);
  work_done(work, &fields);
}
