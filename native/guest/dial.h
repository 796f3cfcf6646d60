/* DIAL: a TCP connection to a port inside; and the end of any stream that is one duplex channel. */
#ifndef BELLJAR_DIAL_H
#define BELLJAR_DIAL_H

struct connection;
struct request;

void dial_start(struct connection *connection, const struct request *request);
/* Ends the stream once both directions have ended. */
void dial_settle(struct connection *connection);

#endif
