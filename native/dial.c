#include "dial.h"

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

static void refuse(struct connection *connection, int error) {
  char text[128];
  snprintf(text, sizeof text, "connect to the port: %s; is a server listening on it inside?", strerror(error));
  connection_fail(connection, code_of_errno(error), error, text);
}

static void connected(struct connection *connection) {
  int fd = connection->exec.status.fd;
  loop_set(connection->loop, &connection->exec.status, 0);
  connection->exec.status.fd = -1;
  connection_send(connection, (struct frame_header){FRAME_STARTED, 0, 0}, NULL);
  if (connection->phase != PHASE_OPEN) close(fd);
  else channel_attach(&connection->channels[0], fd);
}

static void on_connect(struct loop *loop, struct event *event, uint32_t events) {
  (void)loop;
  (void)events;
  struct connection *connection = event->owner;
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(event->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) refuse(connection, error);
  else connected(connection);
  connection_settle(connection);
}

void dial_start(struct connection *connection, const struct request *request) {
  connection->channels = calloc(1, sizeof *connection->channels);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection->channels == NULL || fd < 0) {
    refuse(connection, connection->channels == NULL ? ENOMEM : errno);
    if (fd >= 0) close(fd);
    return;
  }
  channel_open(&connection->channels[0], connection, 0, CHANNEL_SOCKET, -1);
  connection->channel_count = 1;
  connection->exec.status = (struct event){.fd = fd, .ready = on_connect, .owner = connection};
  int on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(request->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  bool ok = setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
  if (!ok || (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)) refuse(connection, errno);
  else if (!loop_set(connection->loop, &connection->exec.status, EPOLLOUT)) refuse(connection, errno);
}

void dial_settle(struct connection *connection) {
  if (connection->channel_count == 0) return;
  const struct channel *channel = &connection->channels[0];
  if (!channel->reads && !channel->writes && !channel->end_due) connection_end(connection);
}
