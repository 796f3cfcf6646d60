/* Pipes of an EXEC that has ended. Their bytes are read and dropped, so that a process in the background is not killed by its next print. */
#ifndef BELLJAR_SINK_H
#define BELLJAR_SINK_H

#include "loop.h"

/* Takes ownership of `fd`. Closes it at its end, or at once if there are too many sinks. */
void sink_open(struct loop *loop, int fd);
void sinks_close(struct loop *loop);

#endif
