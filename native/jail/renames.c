#include "renames.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

/* The name of a path of the caller below /proc, or of the folder above. False: there is none, or this process may not read it. */
static bool find_path(const struct seccomp_notif *told, unsigned index, bool above, char path[PATH_MAX]) {
  struct place place = rename_place(&told->data, index);
  int folder = place.folder == NO_ARGUMENT ? AT_FDCWD : (int)told->data.args[place.folder];
  char text[PATH_MAX], parent[PATH_MAX], name[NAME_MAX + 1];
  if (!read_text((pid_t)told->pid, told->data.args[place.path], text) || !split_path(text, parent, name)) return false;
  if (!above) strcat(parent, name); /* they were parts of one path */
  return write_proc_path(path, (pid_t)told->pid, folder, parent);
}

static bool look_at(int proc, const char *path, int flags, struct statx *seen) {
  return statx(proc, path, AT_NO_AUTOMOUNT | flags, STATX_TYPE | STATX_NLINK | STATX_BTIME | STATX_MNT_ID, seen) == 0;
}

/* A folder of several layers has one link. One of a lower layer alone was there before. */
static bool looks_whole(const struct statx *seen, int64_t since) { return seen->stx_nlink > 1 && (seen->stx_mask & STATX_BTIME) != 0 && seen->stx_btime.tv_sec > since; }

static bool is_candidate(const struct statx *seen, const struct copied_folders *copied) {
  return S_ISDIR(seen->stx_mode) && is_copied(copied, makedev(seen->stx_dev_major, seen->stx_dev_minor)) && !looks_whole(seen, copied->since);
}

/* A name that means the process itself is not found from here. A process that becomes the caller finds it. */
static bool may_be_candidate(int proc, const char *path, const struct copied_folders *copied, struct statx *seen) {
  *seen = (struct statx){.stx_mask = 0};
  return !look_at(proc, path, AT_SYMLINK_NOFOLLOW, seen) || is_candidate(seen, copied);
}

bool is_worth_a_look(int proc, const struct seccomp_notif *told, const struct copied_folders *copied) {
  bool exchanges = rename_place_count(&told->data) == 2;
  char old[PATH_MAX], other[PATH_MAX];
  struct statx seen, above;
  if (!find_path(told, OLD, false, old) || !find_path(told, NEW, !exchanges, other)) return false;
  if (may_be_candidate(proc, old, copied, &seen)) return exchanges || seen.stx_mask == 0 || (look_at(proc, other, 0, &above) && above.stx_mnt_id == seen.stx_mnt_id);
  return exchanges && may_be_candidate(proc, other, copied, &seen);
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
