/* Maps a sandbox's ids to ids of the host. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

/* A slot is taken while its file is locked. The keeper holds the lock until it ends. */
uint32_t claim_slot(const struct spec *spec, int *lock_fd) {
  int folder = open(spec->slots, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) die("open the folder of id slots");
  for (uint32_t i = 0; i < SLOT_COUNT; i++) {
    uint32_t slot = (spec->slot_hint + i) % SLOT_COUNT;
    char name[16];
    snprintf(name, sizeof name, "%u", slot);
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) die("open an id slot");
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      close(folder);
      *lock_fd = fd;
      return SLOT_FIRST_ID + slot * SLOT_SIZE;
    }
    if (errno != EWOULDBLOCK) die("lock an id slot");
    close(fd);
  }
  refuse("every id slot is taken");
}

static void write_proc(pid_t pid, const char *name, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) die("open an id map");
  if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) die("write an id map");
  close(fd);
}

static void write_map(pid_t pid, uint32_t inner, uint32_t outer_uid, uint32_t outer_gid, uint32_t count) {
  char text[64];
  snprintf(text, sizeof text, "%u %u %u", inner, outer_uid, count);
  write_proc(pid, "uid_map", text);
  snprintf(text, sizeof text, "%u %u %u", inner, outer_gid, count);
  write_proc(pid, "gid_map", text);
}

static _Noreturn void exec_map_helper(const char *program, pid_t pid, uint32_t own, uint32_t sub) {
  char text[8][16];
  uint32_t numbers[8] = {0, sub, INSIDE_USER_ID, own, 1, INSIDE_USER_ID + 1, sub + INSIDE_USER_ID, SLOT_SIZE - INSIDE_USER_ID - 1};
  for (size_t i = 0; i < 8; i++) snprintf(text[i], sizeof text[i], "%u", numbers[i]);
  char pid_text[16], count[16];
  snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
  snprintf(count, sizeof count, "%u", INSIDE_USER_ID);
  char *argv[] = {(char *)(uintptr_t)program, pid_text, text[0], text[1], count, text[2], text[3], text[4], text[5], text[6], text[7], NULL};
  char *environment[] = {NULL};
  execve(program, argv, environment);
  _exit(127);
}

/* newuidmap and newgidmap are set-uid. They check /etc/subuid, and write maps that an ordinary user may not write. */
static void run_map_helper(const char *program, pid_t pid, uint32_t own, uint32_t sub) {
  pid_t helper = fork();
  if (helper < 0) die("start newuidmap");
  if (helper == 0) exec_map_helper(program, pid, own, sub);
  int status;
  while (waitpid(helper, &status, 0) < 0)
    if (errno != EINTR) die("wait for newuidmap");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) refuse("newuidmap refused the range; compare /etc/subuid and /etc/subgid with `id`");
}

void write_id_maps(const struct spec *spec, pid_t pid, uint32_t first_id) {
  /* The other maps map the caller's own id. No process inside may have the host's uid 0. */
  if (geteuid() == 0 && spec->id_map != ID_MAP_SLOT) refuse("root makes sandboxes with ids of their own alone");
  switch (spec->id_map) {
    case ID_MAP_SLOT: write_map(pid, 0, first_id, first_id, SLOT_SIZE); return;
    case ID_MAP_SINGLE:
      write_proc(pid, "setgroups", "deny");
      write_map(pid, INSIDE_USER_ID, getuid(), getgid(), 1);
      return;
    case ID_MAP_SUBIDS:
      run_map_helper(spec->newuidmap, pid, getuid(), spec->subuid);
      run_map_helper(spec->newgidmap, pid, getgid(), spec->subgid);
      return;
  }
}

void copy_id_maps(const struct spec *spec, pid_t pid) {
  char text[128];
  if (spec->id_map == ID_MAP_SINGLE) {
    write_proc(pid, "setgroups", "deny");
    write_map(pid, INSIDE_USER_ID, INSIDE_USER_ID, INSIDE_USER_ID, 1);
    return;
  }
  /* A part of a map lies within one part of the map above. */
  const unsigned above = INSIDE_USER_ID + 1, user = INSIDE_USER_ID;
  if (spec->id_map == ID_MAP_SLOT) snprintf(text, sizeof text, "0 0 %u", SLOT_SIZE);
  else snprintf(text, sizeof text, "0 0 %u\n%u %u 1\n%u %u %u\n", user, user, user, above, above, SLOT_SIZE - above);
  write_proc(pid, "uid_map", text);
  write_proc(pid, "gid_map", text);
}

int open_user_namespace_of(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die("open a user namespace");
  return fd;
}

/* Makes a user namespace for its map alone. An idmapped mount takes its map from a user namespace. */
static int open_namespace_with(uint32_t inner_uid, uint32_t inner_gid, uint32_t outer, uint32_t count, pid_t *holder_pid) {
  pid_t keeper = getpid();
  pid_t holder = (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), NULL, NULL, NULL, NULL);
  if (holder < 0) die("make a user namespace for a mount's ids");
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    while (getppid() == keeper) pause();
    _exit(EXIT_FAILURE);
  }
  char text[64];
  snprintf(text, sizeof text, "%u %u %u", inner_uid, outer, count);
  write_proc(holder, "uid_map", text);
  snprintf(text, sizeof text, "%u %u %u", inner_gid, outer, count);
  write_proc(holder, "gid_map", text);
  int fd = open_user_namespace_of(holder);
  kill(holder, SIGKILL); /* our own child, not yet waited for: the pid cannot have passed to another process */
  *holder_pid = holder;
  return fd;
}

int open_layer_namespace(uint32_t first_id, pid_t *holder) { return open_namespace_with(CANONICAL_FIRST_ID, CANONICAL_FIRST_ID, first_id, SLOT_SIZE, holder); }

int open_workspace_namespace(const struct spec *spec, uint32_t first_id, pid_t *holder) {
  return open_namespace_with(spec->workspace_uid, spec->workspace_gid, first_id + INSIDE_USER_ID, 1, holder);
}
