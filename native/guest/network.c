#include "network.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "connection.h"

/* The streams of CONNECTIONS_MAX that the network leaves free for other operations. */
#define STREAMS_RESERVED 256u

static size_t network_fds_max(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) != 0 ? 0 : limit.rlim_cur / 2;
}

bool network_has_fds(const struct loop *loop, size_t fds) { return loop->network_fds + fds <= network_fds_max(); }

bool take_network(struct connection *connection, size_t fds) {
  struct loop *loop = connection->loop;
  if (loop->network_streams + STREAMS_RESERVED >= CONNECTIONS_MAX || !network_has_fds(loop, fds)) {
    connection_fail(connection, GUEST_ERROR_TOO_MANY, 0, "the sandbox's network has as many connections as it may: close some, or allow it more open files");
    return false;
  }
  connection->network_fds = fds;
  loop->network_streams++;
  loop->network_fds += fds;
  return true;
}

void give_network_back(struct connection *connection) {
  if (connection->network_fds == 0) return;
  connection->loop->network_streams--;
  connection->loop->network_fds -= connection->network_fds;
  connection->network_fds = 0;
}

union end {
  struct sockaddr any;
  struct sockaddr_in in;
  struct sockaddr_in6 in6;
};

static void put_end(struct field_writer *fields, const union end *end) {
  bool v4 = end->any.sa_family == AF_INET;
  uint8_t bytes[18];
  size_t size = v4 ? sizeof end->in.sin_addr : sizeof end->in6.sin6_addr;
  if (v4) memcpy(bytes, &end->in.sin_addr, size);
  else memcpy(bytes, &end->in6.sin6_addr, size);
  put_u16(&bytes[size], ntohs(v4 ? end->in.sin_port : end->in6.sin6_port));
  put_bytes(fields, TAG_ADDRESS, bytes, size + 2);
}

void put_local_address(struct field_writer *fields, int fd) {
  union end end;
  socklen_t length = sizeof end;
  if (getsockname(fd, &end.any, &length) == 0) put_end(fields, &end);
}

void put_peer_address(struct field_writer *fields, int fd) {
  union end end;
  socklen_t length = sizeof end;
  if (getpeername(fd, &end.any, &length) == 0) put_end(fields, &end);
}
