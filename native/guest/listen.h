/* The line of LISTEN streams. */
#ifndef BELLJAR_LISTEN_H
#define BELLJAR_LISTEN_H

struct loop;

/* Call it after each batch of events. Streams in line take the addresses that have become free. */
void listens_settle(struct loop *loop);

#endif
