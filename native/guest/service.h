/* Services: listeners inside whose connections go to ACCEPT streams. A service is a unix socket, or the addresses that LISTEN holds. */
#ifndef BELLJAR_SERVICE_H
#define BELLJAR_SERVICE_H

#include <stdbool.h>

struct connection;
struct loop;
struct service;

#define SERVICE_NAME_BYTES 33u

/* A name is 1 to 32 characters of a-z, 0-9 and `-`. */
bool is_service_name(const char *name);

/* The service of LISTEN streams with this name, made if it is new. NULL with errno set. Call service_let_go once for each hold. */
struct service *service_hold(struct loop *loop, const char *name);
void service_let_go(struct service *service);
/* The service hands out connections of this listening socket until service_unwatch. The caller still owns the socket. False with errno set. */
bool service_watch(struct service *service, int fd);
void service_unwatch(struct service *service, int fd);

/* True of an ACCEPT that has got a connection. */
bool is_handed_over(const struct connection *connection);

/* A stream was closed, so descriptors are free: services that rest try again. */
void services_wake(struct loop *loop);
/* Frees the closed services. Call it only between two batches of events. */
void services_sweep(struct loop *loop);
void services_close(struct loop *loop);

#endif
