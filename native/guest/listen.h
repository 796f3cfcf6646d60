/* The line of LISTEN streams. */
#ifndef BELLJAR_LISTEN_H
#define BELLJAR_LISTEN_H

struct loop;

/* Lets the streams in line hold the addresses that have become free; after each batch of events. */
void listens_settle(struct loop *loop);

#endif
