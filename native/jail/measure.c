/* Tells how much room the files of a sandbox take that does not run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "jail.h"

/* Deeper folders are not counted: each level takes a descriptor. */
#define DEPTH_MAX 500
/* After this time the count ends with what it has. Whoever asks waits a little longer. */
#define COUNT_S 45
#define ENTRIES_A_LOOK 4096u
#define BLOCK_BYTES 512u

struct count {
  uint64_t bytes;
  uint64_t entries;
  time_t until;
};

static time_t now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static bool has_time(const struct count *count) { return count->entries % ENTRIES_A_LOOK != 0 || now_s() < count->until; }

/* A file with several names counts once, whichever of them are met. */
static void add(struct count *count, const struct stat *status) {
  uint64_t names = S_ISDIR(status->st_mode) || status->st_nlink == 0 ? 1 : (uint64_t)status->st_nlink;
  count->bytes += (uint64_t)status->st_blocks * BLOCK_BYTES / names;
  count->entries++;
}

static bool is_self(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static DIR *open_folder(int parent, const char *name) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (fd >= 0 && folder == NULL) close(fd);
  return folder;
}

/* Counts the files of a folder up to the next folder in it, which it opens. NULL: there is none. */
static DIR *next_folder(struct count *count, DIR *folder) {
  struct dirent *entry;
  struct stat status;
  while (has_time(count) && (entry = readdir(folder)) != NULL) {
    if (is_self(entry->d_name) || fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
    add(count, &status);
    DIR *inner = S_ISDIR(status.st_mode) ? open_folder(dirfd(folder), entry->d_name) : NULL;
    if (inner != NULL) return inner;
  }
  return NULL;
}

static void count_tree(struct count *count, DIR *top) {
  static DIR *open[DEPTH_MAX];
  size_t depth = 1;
  open[0] = top;
  while (depth > 0) {
    DIR *inner = next_folder(count, open[depth - 1]);
    if (inner == NULL) closedir(open[--depth]);
    else if (depth < DEPTH_MAX) open[depth++] = inner;
    else closedir(inner);
  }
}

static bool print(uint64_t bytes) { return printf("%" PRIu64 "\n", bytes) > 0 && fflush(stdout) == 0; }

bool count_layers(const struct spec *spec) {
  struct count count = {.until = now_s() + COUNT_S};
  DIR *top = open_folder(AT_FDCWD, spec->layers);
  if (top == NULL) return false;
  count_tree(&count, top);
  return print(count.bytes);
}

static int measure_memory(const struct spec *spec) {
  struct statfs status;
  int layers = view_held_layers(spec);
  if (layers < 0 && errno == ENOENT) return EXIT_NO_LAYERS;
  if (layers < 0 || fstatfs(layers, &status) < 0) die("look at the sandbox's files in memory");
  return print((uint64_t)(status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Prints the number of bytes. The specification on standard input names the place alone. */
int measure_main(void) {
  static struct spec spec;
  struct rlimit files = {.rlim_cur = DEPTH_MAX + 64, .rlim_max = DEPTH_MAX + 64};
  parse_spec(read_spec(STDIN_FILENO), &spec);
  hold_pool(&spec);
  setpriority(PRIO_PROCESS, 0, 19); /* nobody waits for it */
  setrlimit(RLIMIT_NOFILE, &files); /* with fewer, it counts fewer levels */
  if (spec.storage == STORAGE_TMPFS) return measure_memory(&spec);
  if (access(spec.layers, F_OK) < 0 && errno == ENOENT) return EXIT_NO_LAYERS;
  return count_layers_as_owner(&spec) ? EXIT_SUCCESS : EXIT_FAILURE;
}
