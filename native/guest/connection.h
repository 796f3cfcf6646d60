/* One stream from the host: its head, its frames both ways, its channels, and the exec, dial or accept that it carries. */
#ifndef BELLJAR_CONNECTION_H
#define BELLJAR_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "channel.h"
#include "frames.h"
#include "io.h"
#include "loop.h"
#include "request.h"

#define CONNECTIONS_MAX 1024u
#define HOLD_OVER (-1)

enum phase {
  /* Its head is still to come. */
  PHASE_HEAD,
  /* Frames go both ways. */
  PHASE_OPEN,
  /* A child serves it; the loop holds only the place. */
  PHASE_WORKER,
  /* The last frame is written or on its way; what still comes is dropped. */
  PHASE_ENDING,
  PHASE_CLOSED,
};

struct exec {
  pid_t pid;
  /* Not reaped yet, so that the pid is still its own. */
  bool alive;
  struct event status;
  bool started;
  bool timed_out;
  /* The 50 ms after the exit are over: only what lay in the pipes is still delivered. */
  bool drained;
  int exit_status;
  struct rusage usage;
  int64_t began_us;
  int64_t ended_us;
};

/* Which loopback address is tried, and what the first one said. */
struct dial {
  bool second;
  uint16_t port;
  int error;
};

struct connection {
  struct connection *next;
  struct connection *previous;
  struct loop *loop;
  struct event socket;
  enum phase phase;
  uint8_t operation;

  /* The head or the frame's header as it comes in. */
  uint8_t header[FRAME_HEADER_BYTES];
  size_t header_length;
  uint8_t *fields;
  size_t fields_length;
  size_t fields_wanted;
  bool in_frame;
  struct frame_header frame;
  uint32_t frame_left;
  uint8_t small[4];

  /* What the socket did not take; allocated while there is some. */
  uint8_t *out;
  size_t out_start;
  size_t out_end;
  bool shut;
  /* Small frames of one settling go out as one write. */
  uint8_t batch[256];
  size_t batch_length;
  bool batching;

  struct channel *channels;
  size_t channel_count;
  /* 0: none. */
  int64_t deadline_us;
  /* Until then the ENDs of an exec wait for its exit, to go out with it. 0: none wait; HOLD_OVER: they wait no more. */
  int64_t hold_us;
  struct exec exec;
  struct service *service;
  struct connection *next_waiting;
  struct listening *listening;
  /* What it counts as a stream of the network; 0: it is none. */
  size_t network_fds;
  struct dial dial;
};

void connection_open(struct loop *loop, int fd);
void connection_close(struct connection *connection);
/* Frees the closed ones; only between two batches of events. */
void connections_sweep(struct loop *loop);

bool connection_is_clear(const struct connection *connection);
/* Sends a small frame, or keeps it until the socket takes it. */
void connection_send(struct connection *connection, struct frame_header header, const void *payload);
/* The same for bytes that are whole frames already. */
void connection_send_bytes(struct connection *connection, const uint8_t *bytes, size_t length);
/* No more frames after this one: waits for the host to close, for a bounded time. */
void connection_end(struct connection *connection);
void connection_fail(struct connection *connection, uint16_t code, int error, const char *text);
/* Sends what became due, asks whether the operation is over, and tells the loop what to wait for. After every change. */
void connection_settle(struct connection *connection);
void connection_deadline(struct connection *connection);

/* Decides who serves the head that just came in; owns nothing of the request (guest.c). */
void serve_request(struct connection *connection, struct request *request);

#endif
