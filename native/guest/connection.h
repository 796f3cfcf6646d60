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
#include "service.h"

#define CONNECTIONS_MAX 1024u

enum phase {
  /* The head has not come yet. */
  PHASE_HEAD,
  /* Frames go both ways. */
  PHASE_OPEN,
  /* A child serves the stream. The loop holds only its place. */
  PHASE_WORKER,
  /* There is no stream. What the operation started lives on, until a later stream takes it up. */
  PHASE_DETACHED,
  /* The last frame is written or in the buffer. Bytes that still come are dropped. */
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
  /* What a later stream calls the work of this one. Empty: the work ends with its stream. */
  char kept_name[SERVICE_NAME_BYTES];
  /* The last stream of what is kept was lost, and the work interrupted: it may not have stopped yet. */
  bool cut;
  /* What is kept is never interrupted, and loses nothing of what its stdin or its terminal was sent. */
  bool stays;
  /* What the host wants to know again of what is kept. */
  uint8_t *note;
  size_t note_length;

  /* The whole head has come, and waits for the end of a STILL: its number among these. 0: it does not. */
  uint64_t held;
  /* The operation's number, as the head has it. */
  uint8_t asked;
  /* The head or the frame header that is coming in. */
  uint8_t header[FRAME_HEADER_BYTES];
  size_t header_length;
  uint8_t *fields;
  size_t fields_length;
  size_t fields_wanted;
  bool in_frame;
  struct frame_header frame;
  uint32_t frame_left;
  uint8_t small[4];

  /* Bytes that the socket did not take. Allocated only while there are some. */
  uint8_t *out;
  size_t out_start;
  size_t out_end;
  bool shut;
  /* The small frames of one connection_settle go out in one write. */
  uint8_t batch[256];
  size_t batch_length;
  bool batching;

  struct channel *channels;
  size_t channel_count;
  /* When `deadline` of the operation is called, or an ENDING stream is closed. 0: never. */
  int64_t deadline_us;
  /* The channels' ENDs are held back until `hold_us`, so that they go out with a later frame. `hold_us` is 0 until the first END. */
  bool holds_ends;
  int64_t hold_us;
  /* The descriptors that this stream of the network counts for. 0: it is not counted. */
  size_t network_fds;
};

void connection_open(struct loop *loop, int fd);
void connection_close(struct connection *connection);
/* The host went away or, if `asked`, sent DETACH. Closes the connection, unless its work goes on without a stream. */
void connection_lose(struct connection *connection, bool asked);
/* Gives the socket of `from`, which is closed, to a connection that has none. */
void connection_take_socket(struct connection *connection, struct connection *from);
/* Frees the closed connections. Call it only between two batches of events. */
void connections_sweep(struct loop *loop);

bool connection_is_clear(const struct connection *connection);
/* Sends a small frame, at once or as soon as the socket takes it. */
void connection_send(struct connection *connection, struct frame_header header, const void *payload);
/* The same for whole frames. */
void connection_send_bytes(struct connection *connection, const uint8_t *bytes, size_t length);
/* Ends the stream after the frames sent so far. Waits a bounded time for the host to close. */
void connection_end(struct connection *connection);
void connection_fail(struct connection *connection, uint16_t code, int error, const char *text);
/* Call it after every change. Sends the frames that are due, lets the operation end the stream, and sets the events to wait for. */
void connection_settle(struct connection *connection);
/* Acts on the deadlines that have passed. */
void connection_pass_deadlines(struct connection *connection, int64_t now);
/* The earlier one of its two deadlines; 0: it has none. */
int64_t connection_first_deadline(const struct connection *connection);
/* True: an END must still be held back. */
bool connection_holds_end(struct connection *connection);
void connection_let_ends_go(struct connection *connection);
/* The `settle` of operations with one duplex channel: ends the stream once both directions have ended. */
void connection_end_with_channel(struct connection *connection);
/* The process connection->pid was reaped. */
void connection_reaped(struct connection *connection, int status, const struct rusage *usage);

#endif
