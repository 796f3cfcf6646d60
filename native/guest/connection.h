/* One stream from the host: its head, its frames both ways, its channels, and the operation that it carries. */
#ifndef BELLJAR_CONNECTION_H
#define BELLJAR_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel.h"
#include "frames.h"
#include "io.h"
#include "loop.h"
#include "operation.h"

#define CONNECTIONS_MAX 1024u

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

struct connection {
  struct connection *next;
  struct connection *previous;
  struct loop *loop;
  struct event socket;
  enum phase phase;
  const struct operation *operation;
  /* What the operation keeps for this stream (operation->state_bytes). */
  void *state;
  /* The process that the operation started; 0 before. */
  pid_t pid;
  /* The process is not reaped yet: the pid is still its own. */
  bool alive;

  /* The operation's number, as the head has it. */
  uint8_t asked;
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
  /* The channels' ENDs wait a moment for what will follow them, until `hold_us` at most. 0: none has come yet. */
  bool holds_ends;
  int64_t hold_us;
  /* The descriptors that it counts as a stream of the network; 0: it is none. */
  size_t network_fds;
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
/* Acts on the deadlines that have passed. */
void connection_pass_deadlines(struct connection *connection, int64_t now);
/* The earlier one of its two deadlines; 0: it has none. */
int64_t connection_first_deadline(const struct connection *connection);
/* Whether an END must wait a little longer. */
bool connection_holds_end(struct connection *connection);
void connection_let_ends_go(struct connection *connection);
/* For streams that are one duplex channel: ends the stream once both directions have ended. */
void connection_end_with_channel(struct connection *connection);
/* The process connection->pid was reaped. */
void connection_reaped(struct connection *connection, int status, const struct rusage *usage);

#endif
