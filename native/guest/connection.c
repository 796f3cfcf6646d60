#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "incoming.h"
#include "still.h"

/* Room for one DATA frame and for the small frames that wait behind it. */
#define OUT_BYTES (FRAME_HEADER_BYTES + PAYLOAD_MAX_BYTES + 2048u)
#define LINGER_US 5000000
#define HOLD_US 1000

/* The operation of a stream whose head has not come yet. */
static const struct operation NO_OPERATION = {.start = NULL};

static void on_socket(struct loop *loop, struct event *event, uint32_t events);

void connection_open(struct loop *loop, int fd) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (connection == NULL) {
    close(fd);
    return;
  }
  connection->loop = loop;
  connection->phase = PHASE_HEAD;
  connection->socket = (struct event){.fd = fd, .ready = on_socket, .owner = connection};
  connection->operation = &NO_OPERATION;
  connection->next = loop->connections;
  if (loop->connections != NULL) loop->connections->previous = connection;
  loop->connections = connection;
  loop->connection_count++;
  connection_settle(connection);
}

static void call(void (*function)(struct connection *connection), struct connection *connection) {
  if (function != NULL) function(connection);
}

static void close_channels(struct connection *connection) {
  for (size_t i = 0; i < connection->channel_count; i++) channel_close(&connection->channels[i]);
}

static void reset_channels(struct connection *connection) {
  for (size_t i = 0; i < connection->channel_count; i++) channel_reset(&connection->channels[i]);
}

void connection_close(struct connection *connection) {
  if (connection->phase == PHASE_CLOSED) return;
  struct loop *loop = connection->loop;
  connection->phase = PHASE_CLOSED;
  call(connection->operation->abandon, connection);
  call(connection->operation->leave, connection);
  reset_channels(connection);
  close_channels(connection);
  loop_close(loop, &connection->socket);
  if (connection->previous != NULL) connection->previous->next = connection->next;
  else loop->connections = connection->next;
  if (connection->next != NULL) connection->next->previous = connection->previous;
  loop->connection_count--;
  connection->next = loop->closed;
  loop->closed = connection;
}

static void drop_out(struct connection *connection) {
  free(connection->out);
  connection->out = NULL;
  connection->out_start = connection->out_end = connection->batch_length = 0;
}

void connection_lose(struct connection *connection, bool asked) {
  const struct operation *operation = connection->operation;
  bool goes_on = connection->phase == PHASE_OPEN && operation->detach != NULL && operation->detach(connection, asked);
  if (!goes_on) {
    connection_close(connection);
    return;
  }
  loop_close(connection->loop, &connection->socket);
  drop_out(connection);
  connection->phase = PHASE_DETACHED;
}

void connection_take_socket(struct connection *connection, struct connection *from) {
  loop_set(from->loop, &from->socket, 0);
  connection->socket.fd = from->socket.fd;
  from->socket.fd = -1;
  connection_close(from);
  connection->header_length = 0;
  connection->in_frame = false;
  connection->phase = PHASE_OPEN;
}

void connections_sweep(struct loop *loop) {
  while (loop->closed != NULL) {
    struct connection *connection = loop->closed;
    loop->closed = connection->next;
    free(connection->fields);
    free(connection->note);
    free(connection->out);
    free(connection->channels);
    free(connection->state);
    free(connection);
  }
}

bool connection_is_clear(const struct connection *connection) { return connection->out_end == 0 && connection->phase != PHASE_CLOSED; }

static void keep_out(struct connection *connection, const uint8_t *bytes, size_t length) {
  if (connection->out == NULL) connection->out = malloc(OUT_BYTES);
  /* Only a few small frames ever wait behind a DATA frame. A full buffer is a fault of the guest, or memory is short. */
  if (connection->out == NULL || length > OUT_BYTES - connection->out_end) {
    connection_close(connection);
    return;
  }
  memcpy(&connection->out[connection->out_end], bytes, length);
  connection->out_end += length;
}

/* Returns how many bytes the socket takes now. Closes the connection if the host has gone. */
static size_t push(struct connection *connection, const uint8_t *bytes, size_t length) {
  ssize_t count = send(connection->socket.fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) return (size_t)count;
  if (errno != EAGAIN && errno != EINTR) connection_lose(connection, false);
  return 0;
}

static void send_batch(struct connection *connection) {
  size_t length = connection->batch_length;
  connection->batch_length = 0;
  if (length > 0) connection_send_bytes(connection, connection->batch, length);
}

void connection_send_bytes(struct connection *connection, const uint8_t *bytes, size_t length) {
  send_batch(connection);
  if (connection->phase == PHASE_CLOSED || connection->socket.fd < 0) return;
  size_t done = connection->out_end == 0 ? push(connection, bytes, length) : 0;
  if (done < length && connection->socket.fd >= 0) keep_out(connection, &bytes[done], length - done);
}

void connection_send(struct connection *connection, struct frame_header header, const void *payload) {
  uint8_t frame[FRAME_HEADER_BYTES + 64];
  if (header.length > sizeof frame - FRAME_HEADER_BYTES) return;
  write_frame_header(frame, header);
  if (header.length > 0) memcpy(&frame[FRAME_HEADER_BYTES], payload, header.length);
  size_t length = FRAME_HEADER_BYTES + header.length;
  if (!connection->batching || length > sizeof connection->batch - connection->batch_length) {
    connection_send_bytes(connection, frame, length);
    return;
  }
  memcpy(&connection->batch[connection->batch_length], frame, length);
  connection->batch_length += length;
}

void connection_end(struct connection *connection) {
  if (connection->phase == PHASE_CLOSED) return;
  close_channels(connection);
  call(connection->operation->leave, connection);
  connection->phase = PHASE_ENDING;
  connection_let_ends_go(connection);
  connection->deadline_us = now_us() + LINGER_US;
}

void connection_fail(struct connection *connection, uint16_t code, int error, const char *text) {
  if (connection->phase == PHASE_ENDING || connection->phase == PHASE_CLOSED) return;
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  size_t length = write_error_frame(frame, sizeof frame, code, error, text);
  connection_send_bytes(connection, frame, length);
  call(connection->operation->abandon, connection);
  connection_end(connection);
}

static void flush_out(struct connection *connection) {
  size_t done = push(connection, &connection->out[connection->out_start], connection->out_end - connection->out_start);
  connection->out_start += done;
  if (connection->socket.fd < 0 || connection->out_start < connection->out_end) return;
  connection->out_start = connection->out_end = 0;
  free(connection->out);
  connection->out = NULL;
}

/* False: nothing more is there now. */
static bool receive(struct connection *connection) {
  uint8_t *scratch = loop_scratch(connection->loop);
  if (scratch == NULL) return false;
  /* Reads no byte beyond the head: a worker may serve the stream, and reads the rest itself. */
  size_t wanted = connection->phase == PHASE_HEAD ? incoming_head_wanted(connection) : SCRATCH_BYTES;
  if (wanted > SCRATCH_BYTES) wanted = SCRATCH_BYTES;
  ssize_t count = recv(connection->socket.fd, scratch, wanted, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) connection_lose(connection, false);
  else if (connection->phase == PHASE_HEAD) incoming_head(connection, scratch, (size_t)count);
  else if (connection->phase == PHASE_OPEN) incoming_frames(connection, scratch, (size_t)count);
  return count > 0;
}

static void on_socket(struct loop *loop, struct event *event, uint32_t events) {
  (void)loop;
  struct connection *connection = event->owner;
  if (events & EPOLLOUT && connection->out_end > 0) flush_out(connection);
  /* A head takes two reads. Both are done at once, so that streams are served in the order of their heads. */
  bool more = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && event->fd >= 0 && connection->held == 0 && !still_holds_frames(connection);
  while (more) more = receive(connection) && connection->phase == PHASE_HEAD && connection->held == 0;
  if (connection->held != 0 && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) connection_close(connection);
  connection_settle(connection);
}

static void settle_open(struct connection *connection) {
  connection->batching = true;
  for (size_t i = 0; i < connection->channel_count; i++) channel_settle(&connection->channels[i]);
  if (connection->phase == PHASE_OPEN) call(connection->operation->settle, connection);
  connection->batching = false;
  send_batch(connection);
}

/* Of a head that waits, the rest of the stream is not read: a worker may serve it. That the host has gone is noticed all the same. */
static uint32_t socket_interest(const struct connection *connection, bool clear) {
  uint32_t out = clear ? 0u : (uint32_t)EPOLLOUT;
  if (connection->held != 0) return out | (uint32_t)EPOLLRDHUP;
  return still_holds_frames(connection) ? out : out | (uint32_t)EPOLLIN;
}

void connection_settle(struct connection *connection) {
  if (connection->phase == PHASE_OPEN) settle_open(connection);
  if (connection->phase == PHASE_CLOSED || connection->phase == PHASE_WORKER) return;
  bool clear = connection_is_clear(connection);
  if (connection->phase == PHASE_ENDING && clear && !connection->shut) {
    connection->shut = true;
    shutdown(connection->socket.fd, SHUT_WR);
  }
  bool watched = loop_set(connection->loop, &connection->socket, socket_interest(connection, clear));
  for (size_t i = 0; connection->phase != PHASE_ENDING && i < connection->channel_count; i++) {
    struct channel *channel = &connection->channels[i];
    watched = loop_set(connection->loop, &channel->event, channel_interest(channel, clear)) && watched;
  }
  if (!watched) connection_close(connection);
}

int64_t connection_first_deadline(const struct connection *connection) {
  bool hold_first = connection->hold_us != 0 && (connection->deadline_us == 0 || connection->hold_us < connection->deadline_us);
  return hold_first ? connection->hold_us : connection->deadline_us;
}

void connection_pass_deadlines(struct connection *connection, int64_t now) {
  if (connection->hold_us != 0 && connection->hold_us <= now) {
    connection_let_ends_go(connection);
    connection_settle(connection);
  }
  if (connection->deadline_us == 0 || connection->deadline_us > now) return;
  connection->deadline_us = 0;
  if (connection->phase == PHASE_ENDING) connection_close(connection);
  else if (connection->phase == PHASE_OPEN || connection->phase == PHASE_DETACHED) call(connection->operation->deadline, connection);
  connection_settle(connection);
}

bool connection_holds_end(struct connection *connection) {
  if (connection->holds_ends && connection->hold_us == 0) connection->hold_us = now_us() + HOLD_US;
  return connection->holds_ends;
}

void connection_let_ends_go(struct connection *connection) {
  connection->holds_ends = false;
  connection->hold_us = 0;
}

void connection_end_with_channel(struct connection *connection) {
  if (connection->channel_count == 0) return;
  const struct channel *channel = &connection->channels[0];
  if (!channel->reads && !channel->writes && !channel->end_due) connection_end(connection);
}

void connection_reaped(struct connection *connection, int status, const struct rusage *usage) {
  connection->alive = false;
  bool goes_on = connection->phase == PHASE_OPEN || connection->phase == PHASE_WORKER || connection->phase == PHASE_DETACHED;
  if (goes_on && connection->operation->reaped != NULL) connection->operation->reaped(connection, status, usage);
}
