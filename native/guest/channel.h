/* One channel of a stream: a pipe, a socket or a terminal on one side, credit and frames on the other. */
#ifndef BELLJAR_CHANNEL_H
#define BELLJAR_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"

struct connection;

enum channel_kind { CHANNEL_PIPE, CHANNEL_SOCKET, CHANNEL_TCP, CHANNEL_TERMINAL };

struct channel {
  struct event event;
  struct connection *connection;
  enum channel_kind kind;
  uint8_t number;
  /* The host may write to it at all. */
  bool takes;
  /* Still open towards the host, and towards the process. */
  bool reads;
  bool writes;
  /* Bytes that we may still send. */
  uint32_t credit;
  /* Bytes that the host may still send, and those that it is to be granted. */
  uint32_t window;
  uint32_t owed;
  /* What the process has not taken yet: at most HOST_CREDIT_BYTES. */
  uint8_t *pending;
  uint32_t pending_start;
  uint32_t pending_end;
  /* Writing to a TCP connection failed. */
  bool broken;
  /* Its bytes wait: the operation has a frame that must go out before them. */
  bool muted;
  /* When the host goes away, the process must not take it for a proper end. */
  bool resets;
  bool end_came;
  bool end_due;
  /* Bytes that lay in it when the process ended, and are still to be delivered. */
  uint32_t promised;
  /* The time to drain is over: nothing but the promised bytes is delivered. */
  bool drained;
};

/* `fd` is non-blocking and owned by the channel from here on; -1 where it is still to come (channel_attach). */
void channel_open(struct channel *channel, struct connection *connection, uint8_t number, enum channel_kind kind, int fd);
void channel_attach(struct channel *channel, int fd);
void channel_close(struct channel *channel);
/* The host went away: where the channel `resets`, the close of a TCP connection that lacks bytes becomes a reset. */
void channel_reset(struct channel *channel);

/* A part of a DATA frame whose length was already taken from the window. */
void channel_take(struct channel *channel, const uint8_t *bytes, size_t length);
void channel_take_end(struct channel *channel);
/* False when the grant is beyond any sense. */
bool channel_grant(struct channel *channel, uint32_t bytes);

/* Notes what lies in it: the process has ended, and so much is still delivered whatever happens. */
void channel_promise(struct channel *channel);
/* The time to drain is over: ends it unless promised bytes are left. */
void channel_stop(struct channel *channel);

/* Sends END and CREDIT that are due; only while the connection is clear. */
void channel_settle(struct channel *channel);
/* What to wait for, given whether the connection can take more output. */
uint32_t channel_interest(const struct channel *channel, bool clear);

#endif
