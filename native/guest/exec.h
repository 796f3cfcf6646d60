/* EXEC, as the loop sees it: start, signals, timeout, end. */
#ifndef BELLJAR_EXEC_H
#define BELLJAR_EXEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct connection;
struct request;

void exec_start(struct connection *connection, const struct request *request);
/* The process was reaped. */
void exec_ended(struct connection *connection, int status, const struct rusage *usage);
/* The timeout, or the end of the time to drain. */
void exec_deadline(struct connection *connection);
bool exec_signal(struct connection *connection, uint32_t number);
bool exec_resize(struct connection *connection, uint16_t rows, uint16_t cols);
/* Most often a program's streams end because it exits: their END then waits a moment, and goes out in one write with the EXIT. */
bool exec_holds_end(struct connection *connection);
/* Sends EXIT once the process is gone and its channels are read. */
void exec_settle(struct connection *connection);
/* The host went away: kills the group. */
void exec_abandon(struct connection *connection);

#endif
