/*
 * The holder (hold.h). It serves requests one after the other, and ends when nobody needs it: no layers, no clients, and no process of the
 * host that makes sandboxes (a leash).
 *
 * Layers go
 *   - when they are dropped,
 *   - when the connection of the keeper that made them closes before it has said that they stay,
 *   - when the folder of the sandbox's runs is deleted,
 *   - with the holder. It ends at once when its socket is deleted, since nobody could reach it any more.
 * A sandbox that runs has a mount of its own of its layers, and goes on until its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "held.h"
#include "hold.h"
#include "io.h"

/* A folder that every Linux has. The holder's root is mounted there before it becomes the root. */
#define STAGE "/tmp"
/* Nothing tells when a descriptor or memory becomes free again. */
#define REST_MS 1000
/* More processes that make sandboxes than these do not keep an empty holder. */
#define LEASHES_MAX 64

enum waited_kind { WAITED_LISTENER, WAITED_WATCHES, WAITED_CLIENT, WAITED_LEASH };

/* What the holder waits for. */
struct waited {
  enum waited_kind kind;
  int fd;
  struct held *held; /* of a client: the layers that it made or opened */
  ino_t pipe;        /* of a leash */
};

struct holder {
  const char *name; /* of its socket */
  int epoll, socket_watch, user_namespace;
  ino_t socket;
  uid_t owner; /* of new layers; root gives them to ids that nothing runs as */
  struct waited listener, inotify;
  size_t client_count, leash_count;
  struct waited *leashes[LEASHES_MAX];
  bool rests;
};

/* One in each process. */
static struct holder holder;

/* ---- what it waits for ---- */

static bool wait_for(struct waited *waited) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = waited};
  return epoll_ctl(holder.epoll, EPOLL_CTL_ADD, waited->fd, &event) == 0;
}

static struct waited *new_waited(enum waited_kind kind, int fd) {
  struct waited *waited = calloc(1, sizeof *waited);
  if (waited == NULL) return NULL;
  *waited = (struct waited){.kind = kind, .fd = fd};
  if (wait_for(waited)) return waited;
  free(waited);
  return NULL;
}

static void forget(struct waited *waited) {
  epoll_ctl(holder.epoll, EPOLL_CTL_DEL, waited->fd, NULL); /* a leash stays open in other processes */
  close(waited->fd);
  free(waited);
}

/* ---- leashes ---- */

/* A leash is the reading end of a pipe. All that one process of the host gives are one pipe's. Takes the descriptor. */
static void keep_leash(int fd) {
  struct stat status;
  bool is_new = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && holder.leash_count < LEASHES_MAX;
  for (size_t i = 0; i < holder.leash_count && is_new; i++) is_new = holder.leashes[i]->pipe != status.st_ino;
  struct waited *leash = is_new ? new_waited(WAITED_LEASH, fd) : NULL;
  if (leash == NULL) {
    close(fd);
    return;
  }
  leash->pipe = status.st_ino;
  holder.leashes[holder.leash_count++] = leash;
}

static void lose_leash(struct waited *leash) {
  for (size_t i = 0; i < holder.leash_count; i++)
    if (holder.leashes[i] == leash) holder.leashes[i] = holder.leashes[--holder.leash_count];
  forget(leash);
}

/* ---- clients ---- */

static void lose_client(struct waited *client) {
  if (client->held != NULL) {
    client->held->user = NULL;
    if (!client->held->is_kept) drop_held(client->held);
  }
  holder.client_count--;
  forget(client);
}

static void reply(const struct waited *client, int error, const int *fds, unsigned count) {
  struct hold_answer answer = {.version = HOLD_VERSION, .error = error};
  send_hold(client->fd, &answer, sizeof answer, fds, count); /* a client that has gone is lost with the next event */
}

static void give(struct waited *client, struct held *held, int layers) {
  int fds[HOLD_FDS_MAX] = {layers, holder.user_namespace};
  if (held->user != NULL) *held->user = NULL; /* a keeper that is dying: whoever asks has the lock of the sandbox */
  held->user = &client->held;
  client->held = held;
  reply(client, 0, fds, holder.user_namespace < 0 ? 1u : 2u);
}

static void serve_layers(struct waited *client, const struct hold_request *request, int runs) {
  errno = client->held != NULL ? EBUSY : ENOENT;
  struct held *held = client->held != NULL ? NULL : request->operation == HOLD_MAKE ? make_held(request->id, request->bytes, holder.owner) : find_held(request->id);
  int layers = held != NULL && watch_runs(held, runs) ? open_held(held) : -1;
  if (layers >= 0) {
    give(client, held, layers);
    close(layers);
    return;
  }
  int error = errno;
  if (held != NULL && request->operation == HOLD_MAKE) drop_held(held);
  reply(client, error, NULL, 0);
}

static void serve_view(struct waited *client, const struct hold_request *request) {
  struct held *held = find_held(request->id);
  errno = ENOENT;
  int layers = held == NULL ? -1 : view_held(held);
  reply(client, layers < 0 ? errno : 0, &layers, layers < 0 ? 0u : 1u);
  if (layers >= 0) close(layers);
}

static void serve_name(struct waited *client, const struct hold_request *request) {
  struct held *held = find_held(request->id);
  bool is_drop = request->operation == HOLD_DROP, is_join = request->operation == HOLD_JOIN, is_own = held != NULL && client->held == held;
  if (is_drop && held != NULL) drop_held(held);
  else if (!is_drop && is_own) held->is_kept = true;
  reply(client, is_drop || is_join || is_own ? 0 : ENOENT, &holder.user_namespace, is_join && holder.user_namespace >= 0 ? 1u : 0u);
}

/* Whoever looks does not use the layers: it takes them from nobody. */
/* False: the client has gone, or has sent what is no request. */
static bool serve(struct waited *client) {
  struct hold_request request;
  uint8_t message[sizeof request];
  int fds[HOLD_FDS_MAX];
  unsigned count;
  ssize_t length = receive_hold(client->fd, message, sizeof message, fds, &count);
  if (length < 0 && errno == EAGAIN) return true;
  bool is_request = length > 0 && parse_hold_request(message, (size_t)length, &request);
  bool has_folder = is_request && request.operation <= HOLD_OPEN;
  is_request = is_request && count == (has_folder ? 2u : 0u);
  if (is_request && has_folder) serve_layers(client, &request, fds[0]);
  else if (is_request && request.operation == HOLD_VIEW) serve_view(client, &request);
  else if (is_request) serve_name(client, &request);
  if (is_request && has_folder) keep_leash(fds[--count]);
  while (count > 0) close(fds[--count]);
  return is_request;
}

static void take_client(void) {
  int fd = accept4(holder.listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    holder.rests = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    return;
  }
  if (is_own_peer(fd) && new_waited(WAITED_CLIENT, fd) != NULL) holder.client_count++;
  else close(fd);
}

/* ---- its life ---- */

static bool is_reachable(void) {
  struct stat status;
  return fstatat(HOLDER_FOLDER_FD, holder.name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino == holder.socket;
}

static void listen_or_rest(void) {
  struct epoll_event event = {.events = holder.rests ? 0 : EPOLLIN, .data.ptr = &holder.listener};
  epoll_ctl(holder.epoll, EPOLL_CTL_MOD, HOLDER_LISTENER_FD, &event);
}

static void serve_event(struct waited *waited) {
  switch (waited->kind) {
    case WAITED_LISTENER: take_client(); return;
    case WAITED_WATCHES:
      if (read_watches(holder.socket_watch) && !is_reachable()) _exit(EXIT_SUCCESS);
      return;
    case WAITED_LEASH: lose_leash(waited); return;
    case WAITED_CLIENT:
      if (!serve(waited)) lose_client(waited);
      return;
  }
}

/* One event at a time: what it is about may be gone with the event before. */
static void turn(void) {
  struct epoll_event event;
  bool rested = holder.rests;
  int count = epoll_wait(holder.epoll, &event, 1, rested ? REST_MS : -1);
  holder.rests = false;
  if (count == 1) serve_event(event.data.ptr);
  if (rested || holder.rests) listen_or_rest();
}

/* Whoever has connected meanwhile finds the connection closed, and starts another holder. */
static _Noreturn void end(void) {
  if (is_reachable()) unlinkat(HOLDER_FOLDER_FD, holder.name, 0);
  _exit(EXIT_SUCCESS);
}

/* Nothing of the host stays mounted in the holder's namespace: it would keep disks busy. */
static void make_root(void) {
  int descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptors < 0) die("open the holder's list of descriptors");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) die("make the holder's mounts private");
  if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=700") < 0) die("mount the holder's root");
  if (chdir(STAGE) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0) die("change the holder's root");
  if (fchdir(descriptors) < 0) die("enter the holder's list of descriptors");
  close(descriptors);
}

static void watch_socket(void) {
  struct stat status;
  holder.inotify = (struct waited){.kind = WAITED_WATCHES, .fd = open_watches()};
  if (fchdir(HOLDER_FOLDER_FD) < 0 || lstat(holder.name, &status) < 0) die("find the holder's socket");
  holder.socket = status.st_ino;
  holder.socket_watch = inotify_add_watch(holder.inotify.fd, holder.name, IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW);
  if (holder.socket_watch < 0) die("watch the holder's socket (fs.inotify.max_user_watches)");
}

/* The one who started it maps the ids. */
static void enter_namespaces(bool is_root) {
  const char tag = HOLDER_HAS_NAMESPACES;
  pid_t pid = getpid();
  char byte;
  if (unshare(CLONE_NEWNS | (is_root ? 0 : CLONE_NEWUSER)) < 0) die("make the holder's namespaces");
  if (!write_whole(STDERR_FILENO, &tag, 1) || !write_whole(STDERR_FILENO, &pid, sizeof pid) || !read_whole(STDERR_FILENO, &byte, 1)) _exit(EXIT_FAILURE);
  holder.user_namespace = is_root ? -1 : open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  if (!is_root && holder.user_namespace < 0) die("open the holder's user namespace");
  holder.owner = is_root ? CANONICAL_FIRST_ID : geteuid();
}

static void replace_stdio(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) die("set the holder's standard streams");
  close(null);
}

static void open_events(void) {
  holder.epoll = epoll_create1(EPOLL_CLOEXEC);
  holder.listener = (struct waited){.kind = WAITED_LISTENER, .fd = HOLDER_LISTENER_FD};
  if (holder.epoll < 0 || !wait_for(&holder.listener) || !wait_for(&holder.inotify)) die("wait for requests");
}

/* Until the one who started it has connected, or is gone, its channel is a leash. */
static void tell_ready(void) {
  const char ready = HOLDER_IS_READY;
  holder.leashes[0] = new_waited(WAITED_LEASH, STDERR_FILENO);
  if (holder.leashes[0] == NULL) die("wait for whoever started the holder");
  holder.leash_count = 1;
  confine_holder();
  send_hold(STDERR_FILENO, &ready, 1, NULL, 0);
}

static void leave_starter(void) {
  pid_t pid = fork();
  if (pid < 0) die("leave the keeper that started the holder");
  if (pid > 0) _exit(EXIT_SUCCESS);
  if (setsid() < 0) die("start a session of the holder's own");
  signal(SIGPIPE, SIG_IGN);
}

int holder_main(const char *path) {
  const char *last = strrchr(path, '/');
  bool is_root = geteuid() == 0;
  holder.name = last == NULL ? path : last + 1;
  umask(077);
  if (close_range(HOLDER_FOLDER_FD + 1, ~0u, 0) < 0) die("close what the holder was not meant to have");
  leave_starter();
  watch_socket();
  enter_namespaces(is_root);
  replace_stdio();
  make_root();
  start_remover();
  open_events();
  tell_ready();
  while (has_held() || holder.client_count > 0 || holder.leash_count > 0) turn();
  end();
}
