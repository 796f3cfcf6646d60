/*
 * A sandbox is idle when nobody waits on a stream of its guest, no request has come, and its programs use next to no processor time. The guest
 * says the first two in a page that it shares with the keeper (activity.h); the kernel counts the third. The keeper looks a few times in the
 * idle time, and every one of these looks must find it idle.
 */
#include "idle.h"

#include <poll.h>
#include <time.h>

#include "activity.h"

#define LOOKS 4
#define LOOK_MIN_MS 10
#define LOOK_MAX_MS 3600000
/* Programs that wait still wake up now and then: one that uses less than a hundredth of a processor is idle. */
#define IDLE_SHARE 100

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t used_us(const struct spec *spec) {
  struct cgroup_usage usage;
  read_cgroup_usage(spec, &usage);
  return usage.cpu_us;
}

bool can_be_idle(const struct spec *spec) { return has_freezer(spec) && used_us(spec) > 0; }

static uint64_t part_ms(const struct idle *idle) {
  uint64_t part = idle->after_ms / LOOKS;
  return part < LOOK_MIN_MS ? LOOK_MIN_MS : part > LOOK_MAX_MS ? LOOK_MAX_MS : part;
}

/* Looks that are at most an hour apart are as many as the idle time has such parts. */
static bool is_over(const struct idle *idle) { return idle->quiet * part_ms(idle) >= idle->after_ms; }

static void note(struct idle *idle, const struct kept *kept) {
  idle->requests = atomic_load(&kept->activity->requests);
  idle->cpu_us = used_us(kept->spec);
  idle->look_ms = now_ms() + (int64_t)part_ms(idle);
}

void idle_begin(struct idle *idle, const struct kept *kept) {
  idle->quiet = 0;
  if (idle->after_ms > 0) note(idle, kept);
}

int idle_wait_ms(const struct idle *idle) {
  if (idle->after_ms == 0) return -1;
  int64_t left = idle->look_ms - now_ms();
  return left > 0 ? (int)left : 0;
}

static bool is_idle(const struct idle *idle, const struct kept *kept) {
  if (atomic_load(&kept->activity->is_busy) || atomic_load(&kept->activity->requests) != idle->requests) return false;
  uint64_t passed_ms = part_ms(idle) + (uint64_t)(now_ms() - idle->look_ms);
  return used_us(kept->spec) - idle->cpu_us <= passed_ms * 1000 / IDLE_SHARE;
}

bool idle_look(struct idle *idle, const struct kept *kept) {
  if (idle->after_ms == 0 || idle_wait_ms(idle) > 0) return false;
  idle->quiet = is_idle(idle, kept) ? idle->quiet + 1 : 0;
  note(idle, kept);
  return is_over(idle);
}

bool is_untouched(const struct idle *idle, const struct kept *kept) {
  struct pollfd waiting = {.fd = kept->guest, .events = POLLIN};
  if (atomic_load(&kept->activity->is_busy) || atomic_load(&kept->activity->requests) != idle->requests) return false;
  return poll(&waiting, 1, 0) == 0;
}
