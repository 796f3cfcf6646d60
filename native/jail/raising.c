/* The keeper's side of a raise. It blocks on nothing but a process of its own that has answered. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "raise.h"

static void replace(int *kept, int fd) {
  if (*kept >= 0) close(*kept);
  *kept = fd;
}

static void take_overlays(struct kept *kept, const int *fds, unsigned count) {
  while (kept->overlay_count > 0) close(kept->overlays[--kept->overlay_count]);
  memcpy(kept->overlays, fds, count * sizeof fds[0]);
  kept->overlay_count = count;
}

void take_inner_descriptors(struct kept *kept, const int *fds, unsigned count) {
  unsigned first = kept->spec->storage == STORAGE_BTRFS ? 0 : RAISE_FDS;
  if (count < first) refuse("the first process inside has not given its namespaces");
  if (first > 0) {
    kept->stage = fds[0];
    kept->user_namespace = fds[1];
    kept->mount_namespace = fds[2];
  }
  take_overlays(kept, fds + first, count - first);
}

void raising_init(struct raising *raising) { raising->channel = -1; }

/* Renames of folders that were made before need the listener, which programs with filters of their own are without. */
static bool can_raise(const struct kept *kept) {
  const struct spec *spec = kept->spec;
  return kept->stage >= 0 && !spec->nested_filters && (spec->storage != STORAGE_TMPFS || are_layers_held(&kept->hold));
}

static bool start(struct raising *raising, const struct kept *kept) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) return false;
  raising->pid = fork();
  if (raising->pid == 0) {
    close(pair[0]);
    raise_layers(kept, raising, pair[1]);
  }
  close(pair[1]);
  if (raising->pid > 0) raising->channel = pair[0];
  else close(pair[0]);
  return raising->pid > 0;
}

static struct gap gap_of(const struct keeper_request *request, const struct step *step) {
  for (unsigned i = 0; i < request->gap_count; i++)
    if (strcmp(request->gaps[i].overlay, step->name) == 0) return (struct gap){.above = request->gaps[i].above, .count = request->gaps[i].count};
  return (struct gap){.count = 0};
}

/* False: it is not what this sandbox's overlays are made of. */
static bool prepare(struct raising *raising, const struct spec *spec, const struct keeper_request *request) {
  snprintf(raising->merged, sizeof raising->merged, "%s", request->merged == NULL ? "" : request->merged);
  bool can = true;
  for (unsigned i = 0; i < spec->step_count; i++) {
    const struct step *step = &spec->steps[i];
    if (step->kind != SETUP_OVERLAY) continue;
    if (raising->count == 0) take_sources(&raising->lowers[i], step);
    raising->gaps[i] = gap_of(request, step);
    can = can && can_renew(&raising->lowers[i], raising->gaps[i]);
  }
  return can;
}

void raising_begin(struct raising *raising, const struct kept *kept, const struct keeper_request *request) {
  raising_end(raising); /* one that has answered may still be about to exit */
  snprintf(raising->layer, sizeof raising->layer, "%s", request->layer);
  raising->steps = 0;
  bool can = prepare(raising, kept->spec, request) && can_raise(kept);
  raising->outcome = can && start(raising, kept) ? RAISE_GOES_ON : RAISE_REFUSED;
}

void raising_end(struct raising *raising) {
  if (raising->pid <= 0) return;
  if (raising->outcome == RAISE_GOES_ON) kill(raising->pid, SIGKILL);
  if (raising->channel >= 0) close(raising->channel);
  raising->channel = -1;
  while (waitpid(raising->pid, NULL, 0) < 0 && errno == EINTR) continue;
  raising->pid = 0;
}

/* False: it was killed before it had answered. */
static bool take_answer(struct raising *raising, struct kept *kept) {
  int fds[1 + OVERLAYS_MAX];
  int count = receive_word(raising->channel, WORD_RAISED, fds, 1 + OVERLAYS_MAX);
  if (count < 0 || !read_whole(raising->channel, &raising->steps, sizeof raising->steps)) return false;
  if (count > 0) replace(&kept->stage, fds[0]);
  raising->outcome = raising->steps != 0 ? RAISE_DONE : RAISE_REFUSED;
  if (raising->steps == 0) return true;
  take_overlays(kept, fds + 1, (unsigned)count - 1);
  raising->count++;
  for (unsigned i = 0; i < STEPS_MAX; i++)
    if ((raising->steps >> i & 1ull) != 0) renew_lowers(&raising->lowers[i], raising->gaps[i], raising->count);
  return true;
}

void raising_read(struct raising *raising, struct kept *kept) {
  if (!take_answer(raising, kept)) raising->outcome = RAISE_BROKEN;
  close(raising->channel);
  raising->channel = -1;
}
