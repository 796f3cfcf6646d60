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
  /* The host may write to it. */
  bool takes;
  /* `reads`: the process may still send. `writes`: it may still receive. */
  bool reads;
  bool writes;
  /* The bytes that the guest may still send. */
  uint32_t credit;
  /* `window`: the bytes that the host may still send. `owed`: the bytes to grant it next. */
  uint32_t window;
  uint32_t owed;
  /* Bytes that the process has not taken yet, at most HOST_CREDIT_BYTES. */
  uint8_t *pending;
  uint32_t pending_start;
  uint32_t pending_end;
  /* Writing to a TCP connection failed. */
  bool broken;
  /* The operation must first send a frame. Until then the process is not read. */
  bool muted;
  /* There is no stream. What the process sends is read and dropped, so that it can go on. */
  bool drops;
  /* A close by the host resets the connection, so that the process does not see a proper end. */
  bool resets;
  bool end_came;
  bool end_due;
  /* The bytes that lay in the pipe when the process ended and are not delivered yet. */
  uint32_t promised;
  /* The time to drain is over. Only promised bytes are still delivered. */
  bool drained;
};

/* Takes ownership of `fd`, which is non-blocking. -1: channel_attach will give it. */
void channel_open(struct channel *channel, struct connection *connection, uint8_t number, enum channel_kind kind, int fd);
void channel_attach(struct channel *channel, int fd);
void channel_close(struct channel *channel);
/* The host went away. If the channel `resets` and its TCP connection is still written to, the close will be a reset. */
void channel_reset(struct channel *channel);

/* Takes a part of a DATA frame. The caller has subtracted the frame's length from the window. */
void channel_take(struct channel *channel, const uint8_t *bytes, size_t length);
void channel_take_end(struct channel *channel);
/* False when the sum of the grants is too large. */
bool channel_grant(struct channel *channel, uint32_t bytes);

/* The process has ended. Counts the bytes that lie in the pipe: all of them will be delivered. */
void channel_promise(struct channel *channel);
/* The time to drain is over. Ends the channel unless promised bytes are left. */
void channel_stop(struct channel *channel);

/* The stream is gone, and the process lives on. `drops`: its bytes are dropped; otherwise it is not read. */
void channel_rest(struct channel *channel, bool drops);
/* Another stream has come. Unless it `keeps_input`, what the process has not taken of the last one gives way to a whole window. */
void channel_resume(struct channel *channel, bool keeps_input);

/* Sends END and CREDIT that are due; only while the connection is clear. */
void channel_settle(struct channel *channel);
/* The events to wait for. `clear`: the connection can take more output. */
uint32_t channel_interest(const struct channel *channel, bool clear);

#endif
