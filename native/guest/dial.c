/* DIAL: a TCP connection to a port inside. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "failure.h"
#include "network.h"
#include "request.h"

struct dial {
  struct event connecting;
  uint16_t port;
  /* The second address is tried; the first one gave this error. */
  bool second;
  int error;
};

static void refuse(struct connection *connection, int error) {
  const struct dial *dial = connection->state;
  char text[160];
  snprintf(text, sizeof text, "connect to 127.0.0.1:%u and [::1]:%u: %s; is a server listening on it inside?", dial->port, dial->port, strerror(error));
  connection_fail(connection, code_of_errno(error), error, text);
}

static void connected(struct connection *connection) {
  struct dial *dial = connection->state;
  int fd = dial->connecting.fd;
  loop_set(connection->loop, &dial->connecting, 0);
  dial->connecting.fd = -1;
  uint8_t bytes[32];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_peer_address(&fields, fd);
  connection_send(connection, (struct frame_header){FRAME_STARTED, 0, (uint32_t)fields.length}, bytes);
  if (connection->phase != PHASE_OPEN) close(fd);
  else channel_attach(&connection->channels[0], fd);
}

static void on_connect(struct loop *loop, struct event *event, uint32_t events);

/* False with errno set. */
static bool start_connect(struct connection *connection) {
  struct dial *dial = connection->state;
  union {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
  } to = {.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
  if (dial->second) to.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  /* Both families have the port at the same offset. */
  to.in.sin_port = htons(dial->port);
  socklen_t length = dial->second ? sizeof to.in6 : sizeof to.in;
  int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  dial->connecting = (struct event){.fd = fd, .ready = on_connect, .owner = connection};
  int on = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return false;
  if (connect(fd, &to.any, length) != 0 && errno != EINPROGRESS) return false;
  return loop_set(connection->loop, &dial->connecting, EPOLLOUT);
}

/* A server on `localhost` may listen on ::1 alone, so ::1 is tried second. If both fail, the error of the first address is sent. */
static void next_address(struct connection *connection, int error) {
  struct dial *dial = connection->state;
  loop_close(connection->loop, &dial->connecting);
  if (!dial->second) {
    dial->second = true;
    dial->error = error;
    if (start_connect(connection)) return;
    loop_close(connection->loop, &dial->connecting);
  }
  refuse(connection, dial->error);
}

/* The kernel may choose the target port as the local port. The socket is then connected to itself, and nobody listens there. */
static bool is_own_echo(int fd) {
  uint8_t ends[2][32];
  struct field_writer fields[2];
  for (size_t i = 0; i < 2; i++) {
    memset(ends[i], 0, sizeof ends[i]);
    field_writer_init(&fields[i], ends[i], sizeof ends[i]);
  }
  put_local_address(&fields[0], fd);
  put_peer_address(&fields[1], fd);
  return fields[0].length == fields[1].length && memcmp(ends[0], ends[1], fields[0].length) == 0;
}

static void on_connect(struct loop *loop, struct event *event, uint32_t events) {
  (void)loop;
  (void)events;
  struct connection *connection = event->owner;
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(event->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0 && is_own_echo(event->fd)) error = ECONNREFUSED;
  if (error != 0) next_address(connection, error);
  else connected(connection);
  connection_settle(connection);
}

static void start(struct connection *connection, const struct request *request) {
  struct dial *dial = connection->state;
  dial->connecting.fd = -1;
  dial->port = request->port;
  connection->channels = calloc(1, sizeof *connection->channels);
  if (connection->channels == NULL) {
    refuse(connection, ENOMEM);
    return;
  }
  channel_open(&connection->channels[0], connection, 0, CHANNEL_TCP, -1);
  connection->channel_count = 1;
  if (!start_connect(connection)) next_address(connection, errno);
}

static void leave(struct connection *connection) {
  struct dial *dial = connection->state;
  loop_close(connection->loop, &dial->connecting);
}

const struct operation DIAL = {.state_bytes = sizeof(struct dial), .start = start, .settle = connection_end_with_channel, .leave = leave};
