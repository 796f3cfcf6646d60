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

void raising_init(struct raising *raising) { *raising = (struct raising){.channel = -1}; }

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
    raise_layers(kept, raising->layer, raising->raised, pair[1]);
  }
  close(pair[1]);
  if (raising->pid > 0) raising->channel = pair[0];
  else close(pair[0]);
  return raising->pid > 0;
}

void raising_begin(struct raising *raising, const struct kept *kept, const char *layer) {
  raising_end(raising); /* one that has answered may still be about to exit */
  snprintf(raising->layer, sizeof raising->layer, "%s", layer);
  raising->steps = 0;
  raising->outcome = can_raise(kept) && start(raising, kept) ? RAISE_GOES_ON : RAISE_REFUSED;
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
  for (unsigned i = 0; i < STEPS_MAX; i++) raising->raised[i] += (unsigned)(raising->steps >> i & 1ull);
  return true;
}

void raising_read(struct raising *raising, struct kept *kept) {
  if (!take_answer(raising, kept)) raising->outcome = RAISE_BROKEN;
  close(raising->channel);
  raising->channel = -1;
}
