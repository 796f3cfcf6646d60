/* ACCEPT: streams of the host that wait for connections, and the services that give them connections. */
#include "service.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"
#include "failure.h"
#include "network.h"
#include "request.h"
#include "use.h"

#define UNIX_SERVICES_MAX 32u
#define BACKLOG 128
#define FOLDER "/run/belljar"
/* The descriptors of an ACCEPT at an address of LISTEN: its stream and its connection. */
#define NETWORK_ACCEPT_FDS 2u

/* A stream that waits for a connection. */
struct accept {
  struct connection *connection;
  /* NULL: it does not wait. */
  struct service *service;
  struct accept *next;
};

struct service {
  struct service *next;
  struct loop *loop;
  /* A listening unix socket. For addresses of LISTEN streams: an epoll set of all their sockets. */
  struct event listener;
  bool listened;
  /* There was no free descriptor for a connection. The service rests until a stream is closed; otherwise the loop would spin. */
  bool rests;
  char name[SERVICE_NAME_BYTES];
  /* The number of LISTEN streams that use it. */
  size_t holds;
  /* In the order of arrival. */
  struct accept *waiting;
};

bool is_service_name(const char *name) {
  size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
  return length > 0 && length < SERVICE_NAME_BYTES && name[length] == 0;
}

/* While no stream waits, connections stay in the kernel's bounded queue. */
static void settle_service(struct service *service) {
  loop_set(service->loop, &service->listener, service->waiting == NULL || service->rests ? 0 : EPOLLIN);
}

/* A service of LISTEN streams is closed with its last stream. A unix socket stays open. */
static void close_if_unused(struct service *service) {
  if (!service->listened || service->holds > 0 || service->waiting != NULL || service->listener.fd < 0) return;
  struct loop *loop = service->loop;
  struct service **at = &loop->services;
  while (*at != service) at = &(*at)->next;
  *at = service->next;
  loop_close(loop, &service->listener);
  service->next = loop->closed_services;
  loop->closed_services = service;
}

static void stop_waiting(struct accept *accept) {
  struct service *service = accept->service;
  if (service == NULL) return;
  struct accept **at = &service->waiting;
  while (*at != NULL && *at != accept) at = &(*at)->next;
  if (*at != NULL) *at = accept->next;
  accept->next = NULL;
  accept->service = NULL;
  settle_service(service);
  close_if_unused(service);
}

static void put_peer(struct field_writer *fields, int fd) {
  struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) peer.uid = (uid_t)-1;
  put_number(fields, TAG_PEER_UID, peer.uid);
  put_number(fields, TAG_PEER_PID, (uint64_t)peer.pid);
}

static void put_local(struct field_writer *fields, int fd) {
  int on = 1;
  /* Without TCP_NODELAY small answers are delayed. A failure costs nothing but that time. */
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  put_local_address(fields, fd);
}

static void hand_over(struct connection *connection, int fd, bool listened) {
  uint8_t bytes[32];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  if (listened) put_local(&fields, fd);
  else put_peer(&fields, fd);
  connection_send(connection, (struct frame_header){FRAME_STARTED, 0, (uint32_t)fields.length}, bytes);
  if (connection->phase != PHASE_OPEN) close(fd);
  else channel_attach(&connection->channels[0], fd);
  use_count(connection->loop);
  connection_settle(connection);
}

static int accept_next(const struct service *service) {
  int fd = service->listener.fd;
  struct epoll_event next;
  if (service->listened) {
    if (epoll_wait(fd, &next, 1, 0) != 1) return -1;
    fd = next.data.fd;
  }
  return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void on_connection(struct loop *loop, struct event *event, uint32_t events) {
  (void)loop;
  (void)events;
  struct service *service = event->owner;
  errno = 0;
  int fd = service->waiting == NULL ? -1 : accept_next(service);
  if (fd >= 0) {
    struct connection *connection = service->waiting->connection;
    stop_waiting(service->waiting);
    hand_over(connection, fd, service->listened);
  } else {
    service->rests = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
  }
  settle_service(service);
}

static int listen_at(const char *folder, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s.sock", folder, name);
  if (length < 0 || (size_t)length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (mkdir(folder, 0755) != 0 && errno != EEXIST) return -1;
  if (unlink(address.sun_path) != 0 && errno != ENOENT) return -1;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && chmod(address.sun_path, 0666) == 0 && listen(fd, BACKLOG) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

static struct service *make_service(struct loop *loop, const char *name, bool listened) {
  const char *folder = loop->options->services_folder;
  int fd = listened ? epoll_create1(EPOLL_CLOEXEC) : listen_at(folder == NULL ? FOLDER : folder, name);
  struct service *service = fd < 0 ? NULL : calloc(1, sizeof *service);
  if (service == NULL) {
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return NULL;
  }
  service->loop = loop;
  service->listened = listened;
  service->listener = (struct event){.fd = fd, .ready = on_connection, .owner = service};
  memcpy(service->name, name, strlen(name));
  service->next = loop->services;
  loop->services = service;
  return service;
}

/* Services of LISTEN need no bound of their own: each has at least one stream. */
static struct service *open_service(struct loop *loop, const char *name, bool listened) {
  size_t unix_services = 0;
  for (struct service *service = loop->services; service != NULL; service = service->next) {
    if (service->listened == listened && strcmp(service->name, name) == 0) return service;
    if (!service->listened) unix_services++;
  }
  errno = EMFILE;
  return !listened && unix_services >= UNIX_SERVICES_MAX ? NULL : make_service(loop, name, listened);
}

static void join(struct service *service, struct accept *accept) {
  struct accept **end = &service->waiting;
  while (*end != NULL) end = &(*end)->next;
  *end = accept;
  accept->service = service;
}

static void fail_start(struct connection *connection, int error) {
  char text[128];
  snprintf(text, sizeof text, "listen for the service: %s", strerror(error));
  connection_fail(connection, code_of_errno(error), error, text);
}

static void start(struct connection *connection, const struct request *request) {
  if (!is_service_name(request->service)) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, "a SERVICE is 1 to 32 of a-z, 0-9 and -");
    return;
  }
  bool listened = has_flag(request, FLAG_LISTENED);
  if (listened && !take_network(connection, NETWORK_ACCEPT_FDS)) return;
  connection->channels = calloc(1, sizeof *connection->channels);
  struct service *service = connection->channels == NULL ? NULL : open_service(connection->loop, request->service, listened);
  if (service == NULL) {
    fail_start(connection, errno);
    return;
  }
  channel_open(&connection->channels[0], connection, 0, listened ? CHANNEL_TCP : CHANNEL_SOCKET, -1);
  connection->channel_count = 1;
  /* If the host goes away in the middle of an answer, the program must see a reset. */
  connection->channels[0].resets = true;
  struct accept *accept = connection->state;
  accept->connection = connection;
  join(service, accept);
  settle_service(service);
}

static void leave(struct connection *connection) {
  stop_waiting(connection->state);
  give_network_back(connection);
}

bool is_handed_over(const struct connection *connection) {
  const struct accept *accept = connection->state;
  return connection->operation == &ACCEPT && accept->connection != NULL && accept->service == NULL;
}

struct service *service_hold(struct loop *loop, const char *name) {
  struct service *service = open_service(loop, name, true);
  if (service != NULL) service->holds++;
  return service;
}

void service_let_go(struct service *service) {
  service->holds--;
  close_if_unused(service);
}

bool service_watch(struct service *service, int fd) {
  struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
  return epoll_ctl(service->listener.fd, EPOLL_CTL_ADD, fd, &wanted) == 0;
}

/* A child may still share the descriptor. Then close alone would leave it in the set. */
void service_unwatch(struct service *service, int fd) { epoll_ctl(service->listener.fd, EPOLL_CTL_DEL, fd, NULL); }

void services_wake(struct loop *loop) {
  for (struct service *service = loop->services; service != NULL; service = service->next) {
    if (!service->rests) continue;
    service->rests = false;
    settle_service(service);
  }
}

void services_sweep(struct loop *loop) {
  while (loop->closed_services != NULL) {
    struct service *service = loop->closed_services;
    loop->closed_services = service->next;
    free(service);
  }
}

void services_close(struct loop *loop) {
  while (loop->services != NULL) {
    struct service *service = loop->services;
    loop->services = service->next;
    loop_close(loop, &service->listener);
    free(service);
  }
}

const struct operation ACCEPT = {.state_bytes = sizeof(struct accept), .start = start, .settle = connection_end_with_channel, .leave = leave};
