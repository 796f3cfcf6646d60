/* Stops all processes of a sandbox, and lets them go on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "jail.h"

#define STATE_BYTES 64
/* How long a pause may take, and how often v1 is asked. */
#define FREEZE_MS 2000
#define FREEZE_STEP_MS 5

static bool reads(int fd, const char *word) {
  char text[STATE_BYTES];
  ssize_t length = pread(fd, text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = 0;
  return strstr(text, word) != NULL;
}

/*
 * The kernel stops one process after the other, while others still fork. v2 goes on until all stand. v1 is told again each time: it has
 * passed over those that were about to sleep for a child of a vfork. False with errno ETIMEDOUT: some process does not stop, as one that
 * waits for a disk. The keeper does nothing else meanwhile, so the time is short.
 */
static bool await_frozen(int group, bool is_v2, const char *name, const char *state) {
  int fd = openat(group, is_v2 ? "cgroup.events" : name, O_RDONLY | O_CLOEXEC);
  bool frozen = false;
  for (int waited = 0; fd >= 0 && !frozen && waited <= FREEZE_MS; waited += FREEZE_STEP_MS) {
    struct pollfd change = {.fd = is_v2 ? fd : -1, .events = POLLPRI};
    if (waited > 0) poll(&change, 1, FREEZE_STEP_MS);
    if (!is_v2) write_group_file(group, name, state);
    frozen = reads(fd, is_v2 ? "frozen 1" : "FROZEN");
  }
  if (fd < 0) return false;
  close(fd);
  errno = ETIMEDOUT;
  return frozen;
}

static bool freeze_group(int group, bool is_v2, bool frozen) {
  const char *name = is_v2 ? "cgroup.freeze" : "freezer.state";
  const char *states[] = {is_v2 ? "0" : "THAWED", is_v2 ? "1" : "FROZEN"};
  if (!write_group_file(group, name, states[frozen])) return false;
  if (!frozen || await_frozen(group, is_v2, name, states[true])) return true;
  int error = errno;
  write_group_file(group, name, states[false]);
  errno = error;
  return false;
}

static bool can_freeze(enum cgroup_kind kind) { return kind == CGROUP_FREEZER || kind == CGROUP_V2; }

bool has_freezer(const struct spec *spec) {
  for (unsigned i = 0; i < spec->cgroup_count; i++)
    if (can_freeze(spec->cgroups[i].kind)) return true;
  return false;
}

bool freeze_cgroups(const struct spec *spec, bool frozen) {
  for (unsigned i = 0; i < spec->cgroup_count; i++) {
    bool is_v2 = spec->cgroups[i].kind == CGROUP_V2;
    if (!can_freeze(spec->cgroups[i].kind)) continue;
    int group = open_group(spec, &spec->cgroups[i]);
    if (group < 0) return false;
    bool done = freeze_group(group, is_v2, frozen);
    int error = errno;
    close(group);
    errno = error;
    return done;
  }
  errno = ENOTSUP;
  return false;
}
