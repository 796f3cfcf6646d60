#include "renames.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "whole-folder.h"

#define OLD 0u
#define NEW 1u

#if defined(__NR_rename)
static bool has_no_folders(const struct seccomp_data *data) { return data->nr == __NR_rename; }
#else
static bool has_no_folders(const struct seccomp_data *data) { return (void)data, false; }
#endif

bool is_rename(const struct seccomp_data *data) {
#if defined(__NR_renameat)
  if (data->nr == __NR_renameat) return true;
#endif
  return has_no_folders(data) || data->nr == __NR_renameat2;
}

unsigned rename_place_count(const struct seccomp_data *data) { return data->nr == __NR_renameat2 && (data->args[4] & RENAME_EXCHANGE) != 0 ? 2 : 1; }

struct place rename_place(const struct seccomp_data *data, unsigned index) {
  if (has_no_folders(data)) return (struct place){.folder = NO_ARGUMENT, .path = (int)index};
  return (struct place){.folder = (int)index * 2, .path = (int)index * 2 + 1};
}

static bool is_copied(const struct copied_folders *copied, dev_t device) {
  for (unsigned i = 0; i < copied->count; i++)
    if (copied->devices[i] == device) return true;
  return false;
}

/* A path of the caller below /proc. */
struct named {
  char above[PATH_MAX]; /* ends with a slash */
  char name[NAME_MAX + 1];
  char whole[PATH_MAX];
};

/* False: there is none, or this process may not read it. */
static bool find_path(const struct seccomp_notif *told, unsigned index, struct named *named) {
  struct place place = rename_place(&told->data, index);
  int folder = place.folder == NO_ARGUMENT ? AT_FDCWD : (int)told->data.args[place.folder];
  char text[PATH_MAX], parent[PATH_MAX];
  if (!read_text((pid_t)told->pid, told->data.args[place.path], text) || !split_path(text, parent, named->name)) return false;
  if (!write_proc_path(named->above, (pid_t)told->pid, folder, parent)) return false;
  return snprintf(named->whole, PATH_MAX, "%s%s", named->above, named->name) < PATH_MAX;
}

static bool look_at(int proc, const char *path, int flags, struct statx *seen) {
  return statx(proc, path, AT_NO_AUTOMOUNT | flags, STATX_TYPE | STATX_NLINK | STATX_BTIME | STATX_MNT_ID, seen) == 0;
}

/* A folder of several layers has one link. One of a lower layer alone was there before. */
static bool looks_whole(const struct statx *seen, int64_t since) { return seen->stx_nlink > 1 && (seen->stx_mask & STATX_BTIME) != 0 && seen->stx_btime.tv_sec > since; }

/* The name of a folder below the copied one: "", or it begins with a slash. NULL: it lies elsewhere. */
static const char *name_below(int proc, int folder, const char *target, char text[PATH_MAX]) {
  char link[32];
  snprintf(link, sizeof link, "thread-self/fd/%d", folder);
  ssize_t length = readlinkat(proc, link, text, PATH_MAX - 1);
  if (length < 0) return NULL;
  text[length] = 0;
  size_t start = strlen(target);
  return strncmp(text, target, start) == 0 && (text[start] == '/' || text[start] == 0) ? text + start : NULL;
}

/*
 * Whoever adds a folder on the host gives it a time of birth like that of one that was made inside. A folder with a part below has the same
 * path there: one that was renamed has none any more, and nothing in it.
 */
static bool is_on_host(int proc, const struct named *named, const struct copied_folders *copied) {
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
  char text[PATH_MAX];
  struct stat status;
  int above = openat(proc, named->above, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (above < 0 || copied->lower < 0) return above < 0;
  const char *below = name_below(proc, above, copied->target, text);
  close(above);
  if (below == NULL) return false;
  int lower = (int)syscall(SYS_openat2, copied->lower, below[0] == 0 ? "." : below + 1, &how, sizeof how);
  if (lower < 0) return errno == EACCES;
  bool is_there = fstatat(lower, named->name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
  close(lower);
  return is_there;
}

/* A name that means the process itself is not found from here. A process that becomes the caller finds it. */
static bool may_be_candidate(int proc, const struct named *named, struct copied_folders *copied, struct statx *seen) {
  *seen = (struct statx){.stx_mask = 0};
  if (!look_at(proc, named->whole, AT_SYMLINK_NOFOLLOW, seen)) return true;
  if (!S_ISDIR(seen->stx_mode)) return false;
  dev_t device = makedev(seen->stx_dev_major, seen->stx_dev_minor);
  bool is_known = is_copied(copied, device) || (find_copied_folders_again(copied) && is_copied(copied, device));
  if (!is_known) return false;
  return !looks_whole(seen, copied->since) || is_on_host(proc, named, copied);
}

bool is_worth_a_look(int proc, const struct seccomp_notif *told, struct copied_folders *copied) {
  bool exchanges = rename_place_count(&told->data) == 2;
  struct named old, other;
  struct statx seen, above;
  if (!find_path(told, OLD, &old) || !find_path(told, NEW, &other)) return false;
  if (may_be_candidate(proc, &old, copied, &seen)) return exchanges || seen.stx_mask == 0 || (look_at(proc, other.above, 0, &above) && above.stx_mnt_id == seen.stx_mnt_id);
  return exchanges && may_be_candidate(proc, &other, copied, &seen);
}

/* The kernel finds the folder above as it will for the call. Only a name in it is used from here on. */
void prepare_rename(const struct call *call, const struct copied_folders *copied, uint64_t tag, const struct kept_folders *kept) {
  char above[PATH_MAX], name[NAME_MAX + 1];
  if (!split_path(call->path, above, name)) return;
  int parent = openat(call->file >= 0 ? call->file : AT_FDCWD, above[0] == 0 ? "." : above, O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  if (parent < 0 || fstat(parent, &status) != 0 || !is_copied(copied, status.st_dev)) return;
  if (kept->restores) {
    restore_whole(parent, tag, &kept->pair);
    return;
  }
  struct whole whole;
  bool is_open = open_whole(&whole, parent, name, tag);
  const int folders[] = {whole.pair.from, whole.pair.to};
  if (is_open && send_word(kept->channel, WORD_FOLDERS, folders, 2)) make_whole(&whole);
  close_whole(&whole);
}
