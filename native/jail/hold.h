/*
 * The holder keeps the layers of sandboxes that write to memory: one process for all sandboxes whose sockets lie in one folder. A layer's
 * file system is mounted in the holder's own mount namespace alone, so it outlives the run that uses it.
 */
#ifndef BELLJAR_HOLD_H
#define BELLJAR_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail.h"

/* A holder may be older than the keeper that asks it. */
#define HOLD_VERSION 1u

/* Requests and answers are messages of this machine's own layout, of one user's processes to each other. */
enum hold_operation {
  HOLD_MAKE = 1, /* with the folder of the runs and the leash: a new file system, which goes with the connection. Answers with the layers */
  HOLD_OPEN = 2, /* with the same: a file system that was kept. Answers with the layers */
  HOLD_KEEP = 3, /* the connection's file system stays when the connection closes */
  HOLD_DROP = 4, /* removes the file system, if there is one */
  HOLD_JOIN = 5, /* names no file system. Answers with the user namespace alone. An older holder closes the connection */
  HOLD_VIEW = 6, /* a file system, whoever uses it. Answers with one more mount of the layers alone. An older holder closes the connection */
};

struct hold_request {
  uint32_t version;
  uint32_t operation;
  uint64_t bytes; /* HOLD_MAKE: the size */
  char id[ID_LENGTH + 1];
};

/* HOLD_MAKE and HOLD_OPEN also give the user namespace, unless root made the holder. */
struct hold_answer {
  uint32_t version;
  int32_t error;
};

#define HOLD_FDS_MAX 2

/* Descriptors that the holder is started with. It tells on its standard error that it is ready, or why it failed. */
#define HOLDER_LISTENER_FD 3
#define HOLDER_FOLDER_FD 4
/* Of an address of a unix socket. */
#define HOLDER_PATH_MAX 108
#define HOLDER_IS_READY '\1'
/* Before its pid: it has made its namespaces, and waits until their ids are mapped. */
#define HOLDER_HAS_NAMESPACES '\2'

/* hold.c */
/* The holder's socket, in the folder of the sockets of all sandboxes. Each way to map ids has a holder of its own. Refuses a path that is too long. */
void holder_path(const struct spec *spec, char path[HOLDER_PATH_MAX]);
/* -1 with errno ENOENT or ECONNREFUSED: there is no holder. */
int connect_holder(const struct spec *spec);

/* For the start, newuidmap may ask a server of names. */
#define HOLDER_PATIENCE_S 20
/* What takes longer fails with EAGAIN. */
bool limit_waits(int connection, time_t seconds);

/* hold-start.c: starts one, unless another process has just done so. Returns a connection. */
int start_holder(const struct spec *spec);

/* hold-request.c: false if the message is not a request. Then `request` is not to be used. */
bool parse_hold_request(const void *message, size_t length, struct hold_request *request);

/* hold-message.c: one message. Of its descriptors at most HOLD_FDS_MAX come; more, or another kind of them, is an error (-1). */
bool send_hold(int connection, const void *message, size_t length, const int *fds, unsigned count);
ssize_t receive_hold(int connection, void *message, size_t length, int fds[HOLD_FDS_MAX], unsigned *count);
/* The other side belongs to this user. */
bool is_own_peer(int connection);

/* holder-filter.c: what the holder may ask of the kernel from here on. */
void confine_holder(void);

#endif
