#include "service.h"

#include <errno.h>
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

#define NAME_BYTES 33u
#define SERVICES_MAX 32u
#define BACKLOG 128
#define FOLDER "/run/belljar"

struct service {
  struct service *next;
  struct event listener;
  char name[NAME_BYTES];
  /* In the order in which they came. */
  struct connection *waiting;
};

static bool is_name(const char *name) {
  size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
  return length > 0 && length < NAME_BYTES && name[length] == 0;
}

/* Connections that nobody waits for stay in the kernel's own, bounded queue. */
static void settle_service(struct loop *loop, struct service *service) {
  loop_set(loop, &service->listener, service->waiting == NULL ? 0 : EPOLLIN);
}

static void hand_over(struct connection *connection, int fd) {
  struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) peer.uid = (uid_t)-1;
  uint8_t bytes[32];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_number(&fields, TAG_PEER_UID, peer.uid);
  put_number(&fields, TAG_PEER_PID, (uint64_t)peer.pid);
  connection_send(connection, (struct frame_header){FRAME_STARTED, 0, (uint32_t)fields.length}, bytes);
  if (connection->phase != PHASE_OPEN) close(fd);
  else channel_attach(&connection->channels[0], fd);
  connection_settle(connection);
}

static void on_connection(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  struct service *service = event->owner;
  int fd = service->waiting == NULL ? -1 : accept4(event->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    struct connection *connection = service->waiting;
    service_leave(connection);
    hand_over(connection, fd);
  }
  settle_service(loop, service);
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

static struct service *open_service(struct loop *loop, const char *name) {
  size_t count = 0;
  for (struct service *service = loop->services; service != NULL; service = service->next, count++) {
    if (strcmp(service->name, name) == 0) return service;
  }
  errno = EMFILE;
  struct service *service = count < SERVICES_MAX ? calloc(1, sizeof *service) : NULL;
  if (service == NULL) return NULL;
  const char *folder = loop->options->services_folder;
  int fd = listen_at(folder == NULL ? FOLDER : folder, name);
  if (fd < 0) {
    free(service);
    return NULL;
  }
  service->listener = (struct event){.fd = fd, .ready = on_connection, .owner = service};
  memcpy(service->name, name, strlen(name));
  service->next = loop->services;
  loop->services = service;
  return service;
}

static void join(struct service *service, struct connection *connection) {
  struct connection **end = &service->waiting;
  while (*end != NULL) end = &(*end)->next_waiting;
  *end = connection;
  connection->service = service;
}

void service_start(struct connection *connection, const struct request *request) {
  if (!is_name(request->service)) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, "a SERVICE is 1 to 32 of a-z, 0-9 and -");
    return;
  }
  struct service *service = open_service(connection->loop, request->service);
  connection->channels = service == NULL ? NULL : calloc(1, sizeof *connection->channels);
  if (connection->channels == NULL) {
    int error = errno;
    char text[128];
    snprintf(text, sizeof text, "listen for the service: %s", strerror(error));
    connection_fail(connection, code_of_errno(error), error, text);
    return;
  }
  channel_open(&connection->channels[0], connection, 0, CHANNEL_SOCKET, -1);
  connection->channel_count = 1;
  join(service, connection);
  settle_service(connection->loop, service);
}

void service_leave(struct connection *connection) {
  struct service *service = connection->service;
  if (service == NULL) return;
  struct connection **at = &service->waiting;
  while (*at != NULL && *at != connection) at = &(*at)->next_waiting;
  if (*at != NULL) *at = connection->next_waiting;
  connection->next_waiting = NULL;
  connection->service = NULL;
  settle_service(connection->loop, service);
}

void services_close(struct loop *loop) {
  while (loop->services != NULL) {
    struct service *service = loop->services;
    loop->services = service->next;
    loop_close(loop, &service->listener);
    free(service);
  }
}
