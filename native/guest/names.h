/*
 * DNS over UDP, for programs that ask in no other way, as musl's resolver. The guest reads nothing of a question: it carries each datagram
 * over a TCP connection to the same address, as DNS over TCP, and the answer back. So whoever serves the address serves UDP too.
 */
#ifndef BELLJAR_NAMES_H
#define BELLJAR_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

#define NAMES_PORT 53u

/* The UDP socket beside a TCP listener. */
struct name_socket {
  struct name_socket *next;
  struct event event;
  struct sockaddr_in at;
};

/* Binds the socket, which must live until the end of the batch in which it is closed. False with errno set. */
bool names_open(struct loop *loop, struct name_socket *names, struct sockaddr_in at);
/* Frees the address and drops the questions that came to it. Does nothing with a socket that is not open. */
void names_close(struct loop *loop, struct name_socket *names);
/* Call it after each batch of events. Drops the questions that waited too long, and lets the sockets rest while there is no room. */
void names_settle(struct loop *loop);
/* When the first question has waited too long. 0: there is none. */
int64_t names_first_deadline(const struct loop *loop);

#endif
