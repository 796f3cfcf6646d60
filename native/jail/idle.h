/* Whether a sandbox is used, as its keeper sees it from outside. */
#ifndef BELLJAR_IDLE_H
#define BELLJAR_IDLE_H

#include "jail.h"

struct idle {
  uint64_t after_ms; /* 0: nobody asks */
  int64_t look_ms;   /* when the keeper looks next, on the monotonic clock */
  unsigned quiet;    /* looks in a row that found no use */
  uint64_t requests, cpu_us;
};

/* Nobody can tell without a count of the processor's time. */
bool can_be_idle(const struct spec *spec);
/* The time begins now, and the first look is one part of it from now. */
void idle_begin(struct idle *idle, const struct kept *kept);
/* How long until the next look, for poll(). -1: there is none. */
int idle_wait_ms(const struct idle *idle);
/* Looks if it is time to. True: the sandbox has been idle for `after_ms`. */
bool idle_look(struct idle *idle, const struct kept *kept);
/* Of a sandbox that stands still since that look: no request has come in between, and none waits. */
bool is_untouched(const struct idle *idle, const struct kept *kept);

#endif
