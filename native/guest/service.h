/* Services: listeners inside whose connections go to ACCEPT streams. A service is a unix socket, or the addresses that LISTEN holds. */
#ifndef BELLJAR_SERVICE_H
#define BELLJAR_SERVICE_H

#include <stdbool.h>

struct loop;
struct service;

/* A SERVICE is 1 to 32 of a-z, 0-9 and -. */
bool is_service_name(const char *name);

/* The service of LISTEN streams by this name, made when it is new; NULL with errno set. Each hold is let go once. */
struct service *service_hold(struct loop *loop, const char *name);
void service_let_go(struct service *service);
/* A listening socket whose connections it hands out, and no more; the caller keeps owning the socket. False with errno set. */
bool service_watch(struct service *service, int fd);
void service_unwatch(struct service *service, int fd);

/* A stream was closed: what had no descriptor left for a connection tries again. */
void services_wake(struct loop *loop);
/* Frees the closed ones; only between two batches of events. */
void services_sweep(struct loop *loop);
void services_close(struct loop *loop);

#endif
