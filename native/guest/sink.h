/* Pipes that outlived their exec: read and dropped, so that a process left behind does not die of its next print. */
#ifndef BELLJAR_SINK_H
#define BELLJAR_SINK_H

#include "loop.h"

/* Owns `fd`; closes it at its end, or at once when there are too many. */
void sink_open(struct loop *loop, int fd);
void sinks_close(struct loop *loop);

#endif
