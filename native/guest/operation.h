/* The shape that each kind of operation fills, so that a stream need not know which kind it carries. */
#ifndef BELLJAR_OPERATION_H
#define BELLJAR_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

struct connection;
struct request;

struct operation {
  /* The size of connection->state. The state is zeroed before `start` and is freed with the connection. */
  size_t state_bytes;
  /* The request ends with this call: the operation copies what it keeps. */
  void (*start)(struct connection *connection, const struct request *request);

  /* Every function below may be NULL. */

  /* The channels have sent what they could: ends the stream if the operation is over. */
  void (*settle)(struct connection *connection);
  /* connection->deadline_us has passed. */
  void (*deadline)(struct connection *connection);
  /* Takes a SIGNAL or RESIZE frame of four bytes; false when its numbers make no sense. NULL: the host may send none. */
  bool (*control)(struct connection *connection, uint8_t frame, const uint8_t *payload);
  /* The process connection->pid was reaped before the stream ended. */
  void (*reaped)(struct connection *connection, int status, const struct rusage *usage);
  /* The stream failed or the host went away: stops the work inside. May be called twice. */
  void (*abandon)(struct connection *connection);
  /* The host went away or, if `asked`, sent DETACH. True: the work goes on without a stream. NULL: it never does. */
  bool (*detach)(struct connection *connection, bool asked);
  /* The stream ends: gives back what the state holds. May be called twice. */
  void (*leave)(struct connection *connection);
};

extern const struct operation ATTACH, EXEC, DIAL, ACCEPT, LISTEN, SHUTDOWN, STILL, WORK;

/* The kind of an operation's number. WORK takes every number that no other kind takes, and refuses what it does not know. */
const struct operation *find_operation(uint8_t number);

#endif
