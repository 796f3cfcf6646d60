/* STILL: everything but the guest stands still, so that the host can copy the files of one moment. */
#ifndef BELLJAR_STILL_H
#define BELLJAR_STILL_H

#include <stdbool.h>

struct connection;
struct loop;

/* The whole head has come, and must wait until everything goes on again. */
bool still_holds_head(const struct connection *connection);
/* What the host sends on this stream must wait. */
bool still_holds_frames(const struct connection *connection);
/* Everything goes on, and the STILL fails. */
void still_break(struct loop *loop);
/* Serves what has waited, once a STILL has begun or is over. */
void still_settle(struct loop *loop);

#endif
