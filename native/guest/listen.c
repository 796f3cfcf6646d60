/* LISTEN: holds TCP addresses inside as long as the stream lives, at port 53 the UDP one too. If several streams want one address, the first stream holds it. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "failure.h"
#include "names.h"
#include "network.h"
#include "request.h"
#include "service.h"

#define BACKLOG 1024

#define LOOPBACK_NET 0x7f000000u
#define LOOPBACK_MASK 0xff000000u
/* Benchmarking addresses (RFC 2544), which no network routes. The jail gives them to the sandbox's loopback. */
#define NAMES_NET 0xc6120000u
#define NAMES_MASK 0xfffe0000u

struct listening {
  struct listening *next;
  struct connection *connection;
  struct service *service;
  bool held;
  size_t count;
  struct address addresses[ADDRESSES_MAX];
  int fds[ADDRESSES_MAX];
  /* Open at port 53 alone. */
  struct name_socket names[ADDRESSES_MAX];
};

static bool is_ours(struct address address) {
  bool ours = (address.ip & LOOPBACK_MASK) == LOOPBACK_NET || (address.ip & NAMES_MASK) == NAMES_NET;
  return ours && address.port != 0;
}

static const char *check(const struct request *request) {
  if (!is_service_name(request->service)) return "a SERVICE is 1 to 32 of a-z, 0-9 and -";
  if (request->address_count > ADDRESSES_MAX) return "more than 64 addresses";
  for (size_t i = 0; i < request->address_count; i++) {
    if (!is_ours(request->addresses[i])) return "an ADDRESS that is no port of 127.0.0.0/8 or 198.18.0.0/15";
  }
  return NULL;
}

static size_t count_fds(const struct request *request) {
  size_t count = 1 + request->address_count;
  for (size_t i = 0; i < request->address_count; i++) count += request->addresses[i].port == NAMES_PORT;
  return count;
}

static void join_line(struct loop *loop, struct listening *listening) {
  struct listening **end = &loop->line;
  while (*end != NULL) end = &(*end)->next;
  *end = listening;
  loop->line_changed = true;
}

static void start(struct connection *connection, const struct request *request) {
  struct listening *listening = connection->state;
  const char *wrong = check(request);
  if (wrong != NULL) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, wrong);
    return;
  }
  if (!take_network(connection, count_fds(request))) return;
  struct service *service = service_hold(connection->loop, request->service);
  if (service == NULL) {
    int error = errno;
    connection_fail(connection, code_of_errno(error), error, "no room to listen for the service");
    return;
  }
  listening->connection = connection;
  listening->service = service;
  listening->count = request->address_count;
  memcpy(listening->addresses, request->addresses, request->address_count * sizeof *request->addresses);
  join_line(connection->loop, listening);
  connection_send(connection, (struct frame_header){FRAME_EVENT, 0, 0}, NULL);
}

static void close_listener(struct listening *listening, size_t index) {
  int fd = listening->fds[index];
  names_close(listening->connection->loop, &listening->names[index]);
  service_unwatch(listening->service, fd);
  /* A child may not have closed its copy of the socket yet. The shutdown frees the address all the same. */
  shutdown(fd, SHUT_RDWR);
  close(fd);
}

/* Gives up the stream's addresses and its place in the line. */
static void leave(struct connection *connection) {
  struct loop *loop = connection->loop;
  struct listening *listening = connection->state;
  give_network_back(connection);
  if (listening->service == NULL) return;
  struct listening **at = &loop->line;
  while (*at != listening) at = &(*at)->next;
  *at = listening->next;
  for (size_t i = 0; listening->held && i < listening->count; i++) close_listener(listening, i);
  service_let_go(listening->service);
  listening->service = NULL;
  loop->line_changed = true;
}

static bool overlap(const struct listening *one, const struct listening *other) {
  for (size_t i = 0; i < one->count; i++) {
    for (size_t j = 0; j < other->count; j++) {
      if (one->addresses[i].ip == other->addresses[j].ip && one->addresses[i].port == other->addresses[j].port) return true;
    }
  }
  return false;
}

static bool is_first(const struct loop *loop, const struct listening *listening) {
  for (const struct listening *earlier = loop->line; earlier != listening; earlier = earlier->next) {
    if (overlap(earlier, listening)) return false;
  }
  return true;
}

static int listen_at(struct service *service, struct sockaddr_in at) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int on = 1;
  /* Connections of an earlier listener may still be closing. */
  bool ok = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
  if (ok && listen(fd, BACKLOG) == 0 && service_watch(service, fd)) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* False with errno set. */
static bool open_listener(struct listening *listening, size_t index) {
  struct address address = listening->addresses[index];
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(address.port), .sin_addr.s_addr = htonl(address.ip)};
  listening->fds[index] = listen_at(listening->service, at);
  if (listening->fds[index] < 0) return false;
  if (address.port != NAMES_PORT || names_open(listening->connection->loop, &listening->names[index], at)) return true;
  int error = errno;
  close_listener(listening, index);
  errno = error;
  return false;
}

static void refuse(struct listening *listening, struct address address, int error) {
  char text[160];
  char ip[INET_ADDRSTRLEN];
  struct in_addr in = {.s_addr = htonl(address.ip)};
  inet_ntop(AF_INET, &in, ip, sizeof ip);
  const char *hint = error == EADDRINUSE ? ": a program inside holds it" : "";
  snprintf(text, sizeof text, "listen on %s:%u: %s%s", ip, address.port, strerror(error), hint);
  connection_fail(listening->connection, code_of_errno(error), error, text);
}

/* Holds all addresses or none. */
static void hold(struct listening *listening) {
  for (size_t i = 0; i < listening->count; i++) {
    if (open_listener(listening, i)) continue;
    int error = errno;
    for (size_t j = 0; j < i; j++) close_listener(listening, j);
    refuse(listening, listening->addresses[i], error);
    return;
  }
  listening->held = true;
  connection_send(listening->connection, (struct frame_header){FRAME_STARTED, 0, 0}, NULL);
}

void listens_settle(struct loop *loop) {
  while (loop->line_changed) {
    loop->line_changed = false;
    struct listening *next;
    for (struct listening *listening = loop->line; listening != NULL; listening = next) {
      next = listening->next;
      if (listening->held || !is_first(loop, listening)) continue;
      struct connection *connection = listening->connection;
      hold(listening);
      connection_settle(connection);
    }
  }
}

const struct operation LISTEN = {.state_bytes = sizeof(struct listening), .start = start, .leave = leave};
