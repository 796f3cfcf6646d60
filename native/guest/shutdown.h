/* SHUTDOWN: SIGTERM to all processes, SIGKILL after the time of grace, then the guest ends. */
#ifndef BELLJAR_SHUTDOWN_H
#define BELLJAR_SHUTDOWN_H

#include <stdbool.h>

struct loop;

/* Call it after each batch of events. True when all processes have ended and the answer is sent. */
bool shutdown_is_over(struct loop *loop);

#endif
