#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"
#include "use.h"

#define EVENTS_PER_BATCH 64

int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

bool loop_set(struct loop *loop, struct event *event, uint32_t interest) {
  if (event->fd < 0 || event->interest == interest) return true;
  /* epoll reports a hang-up even for an empty interest. So an event that waits for nothing leaves the set. */
  int action = interest == 0 ? EPOLL_CTL_DEL : event->interest == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  struct epoll_event wanted = {.events = interest, .data.ptr = event};
  if (epoll_ctl(loop->epoll, action, event->fd, &wanted) != 0) return false;
  event->interest = interest;
  return true;
}

void loop_close(struct loop *loop, struct event *event) {
  if (event->fd < 0) return;
  /* A child may still share the descriptor. Then close alone would leave it in the set. */
  loop_set(loop, event, 0);
  close(event->fd);
  event->fd = -1;
}

uint8_t *loop_scratch(struct loop *loop) {
  if (loop->scratch != NULL) return loop->scratch;
  void *memory = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  loop->scratch = memory == MAP_FAILED ? NULL : memory;
  return loop->scratch;
}

static int timeout_ms(int64_t deadline_us) {
  if (deadline_us == 0) return -1;
  int64_t left = deadline_us - now_us();
  if (left <= 0) return 0;
  return left > 3600000000 ? 3600000 : (int)((left + 999) / 1000);
}

bool loop_wait(struct loop *loop, int64_t deadline_us) {
  struct epoll_event events[EVENTS_PER_BATCH];
  int count = epoll_wait(loop->epoll, events, EVENTS_PER_BATCH, timeout_ms(deadline_us));
  if (count < 0) return errno == EINTR;
  use_begin(loop);
  for (int i = 0; i < count; i++) {
    struct event *event = events[i].data.ptr;
    if (event->fd >= 0) event->ready(loop, event, events[i].events);
  }
  return true;
}
