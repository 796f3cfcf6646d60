#include "channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "sink.h"

/* Each grant costs a write here and a read at the host. A grant is sent once half of the window is used. */
#define GRANT_BYTES (HOST_CREDIT_BYTES / 2u)
/* One window, and the byte that ends a terminal's input. */
#define PENDING_BYTES (HOST_CREDIT_BYTES + 1u)
#define CREDIT_MAX 0x7fffffffu
#define END_OF_INPUT 0x04

static void on_ready(struct loop *loop, struct event *event, uint32_t events);

static bool is_socket(const struct channel *channel) { return channel->kind == CHANNEL_SOCKET || channel->kind == CHANNEL_TCP; }

void channel_open(struct channel *channel, struct connection *connection, uint8_t number, enum channel_kind kind, int fd) {
  memset(channel, 0, sizeof *channel);
  channel->connection = connection;
  channel->number = number;
  channel->kind = kind;
  channel->credit = GUEST_CREDIT_BYTES;
  channel->window = HOST_CREDIT_BYTES;
  channel->reads = channel->writes = channel->takes = true;
  channel->event.fd = -1;
  if (fd >= 0) channel_attach(channel, fd);
}

void channel_attach(struct channel *channel, int fd) {
  channel->event = (struct event){.fd = fd, .ready = on_ready, .owner = channel};
  /* The host's END may have come before the connection was there. */
  if (!channel->writes && is_socket(channel)) shutdown(fd, SHUT_WR);
}

static void drop_pending(struct channel *channel) {
  channel->owed += channel->pending_end - channel->pending_start;
  channel->pending_start = channel->pending_end = 0;
  free(channel->pending);
  channel->pending = NULL;
}

void channel_close(struct channel *channel) {
  if (channel->connection == NULL) return;
  drop_pending(channel);
  channel->reads = channel->writes = false;
  loop_close(channel->connection->loop, &channel->event);
}

void channel_reset(struct channel *channel) {
  struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  if (!channel->resets || channel->kind != CHANNEL_TCP || channel->event.fd < 0 || !channel->writes) return;
  (void)setsockopt(channel->event.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void close_if_done(struct channel *channel) {
  if (!channel->reads && !channel->writes) loop_close(channel->connection->loop, &channel->event);
}

static void end_writes(struct channel *channel) {
  if (!channel->writes) return;
  channel->writes = false;
  drop_pending(channel);
  if (is_socket(channel) && channel->event.fd >= 0) shutdown(channel->event.fd, SHUT_WR);
  close_if_done(channel);
}

static void end_reads(struct channel *channel) {
  if (!channel->reads) return;
  channel->reads = false;
  channel->promised = 0;
  channel->end_due = true;
  close_if_done(channel);
}

/* A reset connection has lost bytes. The error keeps it from looking like a proper end. */
static void fail_reset(struct channel *channel) {
  connection_fail(channel->connection, GUEST_ERROR_CONNECTION_RESET, ECONNRESET, "the program inside closed the connection before it had ended");
}

/* Returns how many bytes the process takes now. 0: it takes none yet. */
static size_t write_now(struct channel *channel, const uint8_t *bytes, size_t length) {
  if (channel->event.fd < 0) return 0;
  ssize_t count = is_socket(channel) ? send(channel->event.fd, bytes, length, MSG_NOSIGNAL) : write(channel->event.fd, bytes, length);
  if (count >= 0) {
    channel->owed += (uint32_t)count;
    return (size_t)count;
  }
  if (errno == EAGAIN || errno == EINTR) return 0;
  channel->broken = channel->kind == CHANNEL_TCP;
  end_writes(channel);
  /* Bytes that the process sent before are still read. The error follows them. */
  if (channel->broken && !channel->reads) fail_reset(channel);
  return 0;
}

static bool keep_pending(struct channel *channel, const uint8_t *bytes, size_t length) {
  if (channel->pending == NULL) channel->pending = malloc(PENDING_BYTES);
  if (channel->pending == NULL) return false;
  if (channel->pending_start > 0) {
    memmove(channel->pending, &channel->pending[channel->pending_start], channel->pending_end - channel->pending_start);
    channel->pending_end -= channel->pending_start;
    channel->pending_start = 0;
  }
  if (length > PENDING_BYTES - channel->pending_end) return false;
  memcpy(&channel->pending[channel->pending_end], bytes, length);
  channel->pending_end += (uint32_t)length;
  return true;
}

void channel_take(struct channel *channel, const uint8_t *bytes, size_t length) {
  size_t done = 0;
  if (channel->writes && channel->pending == NULL) done = write_now(channel, bytes, length);
  if (!channel->writes) channel->owed += (uint32_t)(length - done);
  else if (done < length && !keep_pending(channel, &bytes[done], length - done)) {
    connection_fail(channel->connection, GUEST_ERROR_TOO_MANY, ENOMEM, "no memory for the channel's input");
  }
}

void channel_take_end(struct channel *channel) {
  if (channel->end_came || !channel->takes) return;
  channel->end_came = true;
  if (channel->kind == CHANNEL_TERMINAL) {
    /* A terminal has no half-close. The program gets the byte that Ctrl-D sends. */
    const uint8_t end = END_OF_INPUT;
    channel_take(channel, &end, 1);
  } else if (channel->pending == NULL) {
    end_writes(channel);
  }
}

bool channel_grant(struct channel *channel, uint32_t bytes) {
  if (bytes > CREDIT_MAX - channel->credit) return false;
  channel->credit += bytes;
  return true;
}

static void write_pending(struct channel *channel) {
  uint32_t length = channel->pending_end - channel->pending_start;
  size_t count = write_now(channel, &channel->pending[channel->pending_start], length);
  if (!channel->writes) return;
  channel->pending_start += (uint32_t)count;
  if (channel->pending_start < channel->pending_end) return;
  drop_pending(channel);
  if (channel->end_came && channel->kind != CHANNEL_TERMINAL) end_writes(channel);
}

static uint32_t readable_now(const struct channel *channel) {
  uint32_t most = channel->credit < PAYLOAD_MAX_BYTES ? channel->credit : PAYLOAD_MAX_BYTES;
  return channel->drained && channel->promised < most ? channel->promised : most;
}

static void deliver(struct channel *channel, uint8_t *scratch, uint32_t length) {
  if (channel->drops) return;
  channel->credit -= length;
  channel->promised -= length < channel->promised ? length : channel->promised;
  write_frame_header(scratch, (struct frame_header){FRAME_DATA, channel->number, length});
  connection_send_bytes(channel->connection, scratch, FRAME_HEADER_BYTES + length);
  if (channel->drained) channel_stop(channel);
}

static void read_some(struct channel *channel) {
  uint32_t most = readable_now(channel);
  uint8_t *scratch = loop_scratch(channel->connection->loop);
  if (most == 0 || scratch == NULL) return;
  ssize_t count = read(channel->event.fd, &scratch[FRAME_HEADER_BYTES], most);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) {
    deliver(channel, scratch, (uint32_t)count);
    return;
  }
  if (channel->broken || (count < 0 && channel->kind == CHANNEL_TCP)) {
    fail_reset(channel);
    return;
  }
  /* The end of a terminal is EIO; of every other kind it is 0. */
  end_reads(channel);
}

static void on_ready(struct loop *loop, struct event *event, uint32_t events) {
  (void)loop;
  struct channel *channel = event->owner;
  struct connection *connection = channel->connection;
  uint32_t ended = events & (EPOLLHUP | EPOLLERR);
  if ((events & EPOLLOUT || ended) && channel->writes && channel->pending != NULL) write_pending(channel);
  if ((events & EPOLLIN || ended) && channel->reads && event->fd >= 0 && !channel->muted && connection_is_clear(connection)) read_some(channel);
  connection_settle(connection);
}

static uint32_t count_waiting(const struct channel *channel) {
  int waiting = 0;
  return channel->reads && ioctl(channel->event.fd, FIONREAD, &waiting) == 0 && waiting > 0 ? (uint32_t)waiting : 0;
}

void channel_promise(struct channel *channel) { channel->promised = count_waiting(channel); }

void channel_stop(struct channel *channel) {
  channel->drained = true;
  uint32_t waiting = count_waiting(channel);
  if (waiting < channel->promised) channel->promised = waiting;
  if (!channel->reads || channel->promised > 0) return;
  struct loop *loop = channel->connection->loop;
  if (channel->kind == CHANNEL_PIPE) {
    loop_set(loop, &channel->event, 0);
    sink_open(loop, channel->event.fd);
    channel->event.fd = -1;
  }
  end_reads(channel);
}

void channel_rest(struct channel *channel, bool drops) {
  channel->drops = drops;
  channel->muted = !drops;
  channel->credit = GUEST_CREDIT_BYTES;
}

void channel_resume(struct channel *channel, bool keeps_input) {
  channel->drops = channel->muted = false;
  channel->credit = GUEST_CREDIT_BYTES;
  if (!keeps_input) drop_pending(channel);
  uint32_t pending = channel->pending_end - channel->pending_start;
  channel->window = pending < HOST_CREDIT_BYTES ? HOST_CREDIT_BYTES - pending : 0;
  channel->owed = 0;
  /* The stream before may have been told. This one was not. */
  channel->end_due = !channel->reads && channel->number > 0;
}

void channel_settle(struct channel *channel) {
  struct connection *connection = channel->connection;
  if (channel->end_due && connection_is_clear(connection) && !connection_holds_end(connection)) {
    channel->end_due = false;
    connection_send(connection, (struct frame_header){FRAME_END, channel->number, 0}, NULL);
  }
  if (channel->owed >= GRANT_BYTES && connection_is_clear(connection)) {
    uint8_t grant[4];
    put_u32(grant, channel->owed);
    channel->window += channel->owed;
    channel->owed = 0;
    connection_send(connection, (struct frame_header){FRAME_CREDIT, channel->number, sizeof grant}, grant);
  }
}

uint32_t channel_interest(const struct channel *channel, bool clear) {
  uint32_t interest = 0;
  if (channel->reads && clear && !channel->muted && readable_now(channel) > 0) interest |= EPOLLIN;
  if (channel->writes && channel->pending != NULL) interest |= EPOLLOUT;
  return interest;
}
