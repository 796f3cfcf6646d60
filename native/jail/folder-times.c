/* Each entry that is made in a folder changes the folder's time. So the times of folders are remembered, and set at the end. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unpack.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FIRST_ROOM 1024u

void note_folder_time(struct folder_times *times, int folder, struct timespec time) {
  struct stat status;
  if (fstat(folder, &status) < 0) fail_job("look at", "a folder");
  if (times->count == times->room) {
    times->room = times->room == 0 ? FIRST_ROOM : 2 * times->room;
    times->list = realloc(times->list, times->room * sizeof *times->list);
    if (times->list == NULL) fail_job("remember", "the times of folders");
  }
  times->list[times->count] = (struct folder_time){.folder = status.st_ino, .order = (uint32_t)times->count, .time = time};
  times->count++;
}

static int compare(const void *one, const void *other) {
  const struct folder_time *left = one, *right = other;
  if (left->folder != right->folder) return left->folder < right->folder ? -1 : 1;
  return left->order < right->order ? -1 : left->order > right->order;
}

/* The last one that was noted. NULL: the archive has not told of the folder. */
static const struct folder_time *find_time(const struct folder_times *times, ino_t folder) {
  size_t low = 0, high = times->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (times->list[middle].folder <= folder) low = middle + 1;
    else high = middle;
  }
  return low > 0 && times->list[low - 1].folder == folder ? &times->list[low - 1] : NULL;
}

static bool is_folder(int parent, const struct dirent *entry) {
  struct stat status;
  if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
  return fstatat(parent, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/* The folders in it come first. They are at most TAR_LEVELS_MAX deep. */
static void set_times_below(const struct folder_times *times, int fd) {
  struct stat status;
  struct dirent *entry;
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (folder == NULL || fstat(fd, &status) < 0) fail_job("open", "a folder of the layer");
  while ((errno = 0, entry = readdir(folder)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || !is_folder(fd, entry)) continue;
    set_times_below(times, openat(fd, entry->d_name, FOLDER_FLAGS));
  }
  if (errno != 0) fail_job("read", "a folder of the layer");
  const struct folder_time *found = find_time(times, status.st_ino);
  if (found != NULL && futimens(fd, (const struct timespec[2]){found->time, found->time}) < 0) fail_job("set the times of", "a folder");
  closedir(folder);
}

static void raise_limit_of_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void set_folder_times(struct folder_times *times, int root) {
  raise_limit_of_files();
  if (times->count > 0) qsort(times->list, times->count, sizeof *times->list, compare);
  set_times_below(times, openat(root, ".", FOLDER_FLAGS));
  free(times->list);
}
