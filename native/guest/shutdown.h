/* SHUTDOWN: SIGTERM to all, SIGKILL after the grace, then the end. */
#ifndef BELLJAR_SHUTDOWN_H
#define BELLJAR_SHUTDOWN_H

#include <stdbool.h>

struct loop;

/* To be asked after each batch of events: true when everything has ended and the answer is sent. */
bool shutdown_is_over(struct loop *loop);

#endif
