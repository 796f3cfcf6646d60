/* WATCH: sends the changes in a file, a folder or a tree until the host closes the stream. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch-set.h"
#include "work.h"

/* The other half of a rename follows at once, or not at all. */
#define RENAME_WAIT_MS 10
#define EVENT_BYTES 16384u

struct watcher {
  struct work *work;
  struct watch_set set;
  bool recursive;
  /* The first half of a rename: the old path. The second half may still come. */
  uint32_t cookie;
  bool moved_folder;
  char moved[PATH_MAX];
};

static void send_event(struct watcher *watcher, uint8_t kind, const char *path, const char *target) {
  struct field_writer fields = work_fields(watcher->work);
  put_number(&fields, TAG_KIND, kind);
  put_text(&fields, TAG_PATH, path);
  if (target != NULL) put_text(&fields, TAG_TARGET, target);
  work_send(watcher->work, FRAME_EVENT, &fields);
}

static bool join_path(char *to, const char *folder, const char *name) {
  int length = snprintf(to, PATH_MAX, "%s%s%s", folder, folder[0] == 0 || name[0] == 0 ? "" : "/", name);
  errno = ENAMETOOLONG;
  return length >= 0 && length < PATH_MAX;
}

/* False: a folder exists and could not be watched, so its changes would be missed. */
static bool watch_tree(struct watcher *watcher, const char *path, bool is_new);

static bool watch_entry(struct watcher *watcher, const char *folder, const struct dirent *entry, bool is_new) {
  if (entry->d_name[0] == '.' && (entry->d_name[1] == 0 || (entry->d_name[1] == '.' && entry->d_name[2] == 0))) return true;
  char path[PATH_MAX];
  if (!join_path(path, folder, entry->d_name)) return false;
  if (is_new) send_event(watcher, EVENT_KIND_CREATE, path, NULL);
  struct stat status;
  if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) return true;
  if (entry->d_type == DT_UNKNOWN && (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode))) return true;
  return watch_tree(watcher, path, is_new);
}

static bool watch_tree(struct watcher *watcher, const char *path, bool is_new) {
  if (!watch_add(&watcher->set, path[0] == 0 ? "." : path, path, false)) return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP;
  int fd = open(path[0] == 0 ? "." : path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (folder == NULL) return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP;
  bool all = true;
  for (struct dirent *entry = readdir(folder); entry != NULL && all; entry = readdir(folder)) all = watch_entry(watcher, path, entry, is_new);
  int error = errno;
  closedir(folder);
  errno = error;
  return all;
}

static void forget_move(struct watcher *watcher) {
  if (watcher->cookie == 0) return;
  watcher->cookie = 0;
  if (watcher->moved_folder) watch_remove(&watcher->set, watcher->moved);
  send_event(watcher, EVENT_KIND_REMOVE, watcher->moved, NULL);
}

static void arrive(struct watcher *watcher, const struct inotify_event *event, const char *path) {
  bool folder = (event->mask & IN_ISDIR) != 0;
  bool all = true;
  if (watcher->cookie != 0 && watcher->cookie == event->cookie) {
    watcher->cookie = 0;
    send_event(watcher, EVENT_KIND_RENAME, watcher->moved, path);
    if (folder && watcher->recursive) all = watch_move(&watcher->set, watcher->moved, path);
  } else {
    forget_move(watcher);
    send_event(watcher, EVENT_KIND_CREATE, path, NULL);
    if (folder && watcher->recursive) all = watch_tree(watcher, path, true);
  }
  if (!all) send_event(watcher, EVENT_KIND_OVERFLOW, path, NULL);
}

static void depart(struct watcher *watcher, const struct inotify_event *event, const char *path) {
  forget_move(watcher);
  watcher->cookie = event->cookie;
  watcher->moved_folder = (event->mask & IN_ISDIR) != 0;
  memcpy(watcher->moved, path, strlen(path) + 1);
}

static void tell(struct watcher *watcher, const struct inotify_event *event) {
  if (event->mask & IN_Q_OVERFLOW) {
    forget_move(watcher);
    send_event(watcher, EVENT_KIND_OVERFLOW, "", NULL);
    return;
  }
  const char *folder = watch_path(&watcher->set, event->wd);
  char path[PATH_MAX];
  if (folder == NULL || !join_path(path, folder, event->len > 0 ? event->name : "")) return;
  if (event->mask & IN_MOVED_FROM) depart(watcher, event, path);
  else if (event->mask & (IN_MOVED_TO | IN_CREATE)) arrive(watcher, event, path);
  else forget_move(watcher);
  if (event->mask & IN_MODIFY) send_event(watcher, EVENT_KIND_WRITE, path, NULL);
  if (event->mask & IN_ATTRIB && !(event->mask & IN_ISDIR && event->len == 0 && folder[0] != 0)) send_event(watcher, EVENT_KIND_ATTRIBUTES, path, NULL);
  /* The parent of a folder below the watched folder reports its removal. */
  if (event->mask & IN_DELETE || (event->mask & IN_DELETE_SELF && folder[0] == 0)) send_event(watcher, EVENT_KIND_REMOVE, path, NULL);
  if (event->mask & IN_IGNORED) watch_forget(&watcher->set, event->wd);
}

static void read_events(struct watcher *watcher) {
  _Alignas(struct inotify_event) uint8_t bytes[EVENT_BYTES];
  ssize_t length = read(watcher->set.inotify, bytes, sizeof bytes);
  if (length < 0 && errno != EINTR && errno != EAGAIN) work_fail(watcher->work, "watch", watcher->work->request->path);
  for (size_t at = 0; length > 0 && at < (size_t)length;) {
    struct inotify_event header;
    memcpy(&header, &bytes[at], sizeof header);
    tell(watcher, (const struct inotify_event *)(const void *)&bytes[at]);
    at += sizeof header + header.len;
  }
  work_check_host(watcher->work);
}

static void start(struct watcher *watcher) {
  struct work *work = watcher->work;
  const char *path = work->request->path;
  struct stat status;
  watcher->set.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watcher->set.inotify < 0 || stat(path, &status) != 0) work_fail(work, "watch", path);
  bool folder = S_ISDIR(status.st_mode);
  /* Paths are relative to the working folder, so a rename of the watched folder does not matter. */
  if (folder && chdir(path) != 0) work_fail(work, "watch", path);
  watcher->recursive = folder && has_flag(work->request, FLAG_RECURSIVE);
  if (watcher->recursive ? watch_tree(watcher, "", false) : watch_add(&watcher->set, folder ? "." : path, "", true)) return;
  if (errno == ENOSPC || errno == EMFILE) work_refuse(work, GUEST_ERROR_TOO_MANY, "more folders than can be watched: watch a smaller tree");
  work_fail(work, "watch", path);
}

void serve_watch(struct work *work) {
  struct watcher *watcher = calloc(1, sizeof *watcher);
  if (watcher == NULL) work_fail(work, "watch", work->request->path);
  watcher->work = work;
  start(watcher);
  struct field_writer none = work_fields(work);
  work_send(work, FRAME_REPLY, &none);
  struct pollfd sources[2] = {{.fd = work->fd, .events = POLLIN | POLLRDHUP}, {.fd = watcher->set.inotify, .events = POLLIN}};
  for (;;) {
    work_flush(work);
    int count = poll(sources, 2, watcher->cookie == 0 ? -1 : RENAME_WAIT_MS);
    if (count < 0 && errno != EINTR) work_fail(work, "watch", work->request->path);
    if (count > 0 && sources[0].revents != 0) _exit(0);
    if (count > 0) read_events(watcher);
    else forget_move(watcher);
  }
}
