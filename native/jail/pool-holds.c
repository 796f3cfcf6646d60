/* What a storage pool holds, by the quota groups of its subvolumes, as of the last commit: nothing is counted or flushed for it. */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "jail.h"
#include "pool.h"

#define SEARCH_BYTES 65536u
#define LEVEL_SHIFT 48
#define LAYERS_FOLDER "layers"

struct group {
  uint64_t subvolume, bytes;
};

struct groups {
  struct group *at; /* by subvolume */
  size_t count, capacity;
};

struct search {
  struct btrfs_ioctl_search_args_v2 args;
  uint8_t room[SEARCH_BYTES];
};

static void add_group(struct groups *groups, struct group group) {
  if (groups->count == groups->capacity) {
    groups->capacity = groups->capacity == 0 ? 256 : groups->capacity * 2;
    groups->at = reallocarray(groups->at, groups->capacity, sizeof *groups->at);
    if (groups->at == NULL) die("keep what the storage pool holds");
  }
  groups->at[groups->count++] = group;
}

/* The kernel's answer: headers, each with its item. Returns the last key's offset. */
static uint64_t add_found(struct groups *groups, const struct search *search) {
  struct btrfs_ioctl_search_header header = {.offset = 0};
  struct btrfs_qgroup_info_item item;
  size_t at = 0;
  for (uint32_t i = 0; i < search->args.key.nr_items; i++) {
    memcpy(&header, search->room + at, sizeof header);
    at += sizeof header;
    if (header.type == BTRFS_QGROUP_INFO_KEY && header.len == sizeof item && header.offset >> LEVEL_SHIFT == 0) {
      memcpy(&item, search->room + at, sizeof item);
      add_group(groups, (struct group){.subvolume = header.offset, .bytes = le64toh(item.excl)});
    }
    at += header.len;
  }
  return header.offset;
}

static void read_groups(int pool, struct groups *groups) {
  static struct search search;
  uint64_t next = 0;
  do {
    search.args = (struct btrfs_ioctl_search_args_v2){
        .key = {.tree_id = BTRFS_QUOTA_TREE_OBJECTID, .min_type = BTRFS_QGROUP_INFO_KEY, .max_type = BTRFS_QGROUP_INFO_KEY, .min_offset = next, .max_offset = UINT64_MAX, .max_transid = UINT64_MAX, .nr_items = UINT32_MAX},
        .buf_size = SEARCH_BYTES,
    };
    if (ioctl(pool, BTRFS_IOC_TREE_SEARCH_V2, &search.args) < 0) die("ask what the storage pool holds");
    if (search.args.key.nr_items > 0) next = add_found(groups, &search) + 1;
  } while (search.args.key.nr_items > 0 && next != 0);
}

static int compare_groups(const void *one, const void *other) {
  uint64_t first = ((const struct group *)one)->subvolume, second = ((const struct group *)other)->subvolume;
  return (first > second) - (first < second);
}

/* False: it is no subvolume, or has gone meanwhile. */
static bool find_subvolume(int folder, const char *name, uint64_t *id) {
  struct btrfs_ioctl_ino_lookup_args args = {.treeid = 0, .objectid = BTRFS_FIRST_FREE_OBJECTID};
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  bool found = fd >= 0 && ioctl(fd, BTRFS_IOC_INO_LOOKUP, &args) == 0;
  if (fd >= 0) close(fd);
  *id = args.treeid;
  return found;
}

/* What a subvolume wrote is its own until it is freed, also if the subvolume has gone and a frozen layer holds it. */
static void print_members(int folder, const char *kind, const struct groups *groups) {
  struct dirent *entry;
  DIR *list = fdopendir(folder);
  while (list != NULL && (entry = readdir(list)) != NULL) {
    struct group wanted;
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, LAYERS_FOLDER) == 0 || !find_subvolume(folder, entry->d_name, &wanted.subvolume)) continue;
    const struct group *found = groups->count == 0 ? NULL : bsearch(&wanted, groups->at, groups->count, sizeof wanted, compare_groups);
    printf("%s %s %" PRIu64 "\n", kind, entry->d_name, found == NULL ? 0 : found->bytes);
  }
  if (list != NULL) closedir(list);
}

void print_pool(const char *folder) {
  struct groups groups = {.at = NULL};
  struct statfs status;
  int pool = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (pool < 0 || fstatfs(pool, &status) < 0) die("look at the storage pool");
  uint64_t size = (uint64_t)status.f_blocks * (uint64_t)status.f_bsize;
  printf("pool %" PRIu64 " %" PRIu64 "\n", size, size - (uint64_t)status.f_bfree * (uint64_t)status.f_bsize);
  read_groups(pool, &groups);
  if (groups.count > 0) qsort(groups.at, groups.count, sizeof *groups.at, compare_groups);
  int layers = openat(pool, LAYERS_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  print_members(pool, "sandbox", &groups);
  if (layers >= 0) print_members(layers, "layer", &groups);
  free(groups.at);
}
