/* What a kept EXEC is asked when its stream goes or another one comes. */
#ifndef BELLJAR_EXEC_H
#define BELLJAR_EXEC_H

#include <stdbool.h>

struct connection;

bool exec_has_started(const struct connection *connection);
/* Sends SIGINT to the process group. */
void exec_interrupt(const struct connection *connection);
/* There is no stream for now. */
void exec_rest(struct connection *connection);
/* A stream is there again: it gets STARTED, and the EXIT if the process has ended meanwhile. */
void exec_resume(struct connection *connection);

#endif
