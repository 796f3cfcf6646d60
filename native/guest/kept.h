/* Kept commands: an EXEC with a NAME outlives its stream, and an ATTACH takes it up. */
#ifndef BELLJAR_KEPT_H
#define BELLJAR_KEPT_H

#include <stdbool.h>

struct connection;
struct loop;
struct request;

/* The EXEC gets its name. False: it was refused. */
bool keep_as_named(struct connection *connection, const struct request *request);
/* Nobody finds the command any more. */
void release_name(struct connection *connection);
/* The `detach` of EXEC: a kept command that runs goes on without a stream. Unless the host asked for it, it is interrupted. */
bool detach_kept(struct connection *connection, bool asked);
/* LIST_KEPT: the names, and whether each command still runs; with a NAME what the host has noted of it. */
void list_kept(struct connection *connection, const struct request *request);
/* Gives kept commands without a stream to those that wait for them. Call it between two batches of events. */
void kept_settle(struct loop *loop);

#endif
