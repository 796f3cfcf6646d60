/* LISTEN: TCP addresses inside, held as long as the stream lives. Of several streams that want one address the first holds it. */
#ifndef BELLJAR_LISTEN_H
#define BELLJAR_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

struct connection;
struct field_writer;
struct loop;
struct request;

/* Descriptors of an ACCEPT at what LISTEN holds: its stream and its connection. */
#define NETWORK_ACCEPT_FDS 2u

void listen_start(struct connection *connection, const struct request *request);
/* Gives its addresses up, and its place in the line. */
void listen_leave(struct connection *connection);
/* Lets those in line hold what has become free; after each batch of events. */
void listens_settle(struct loop *loop);

/*
 * Counts a stream of the network with its descriptors, until listen_leave; false when it was refused: a sandbox's network
 * takes at most a part of the streams and of the descriptors, so that commands can still be run.
 */
bool take_network(struct connection *connection, size_t fds);
/* ADDRESS of our end of a TCP socket, and of the other one. */
void put_local_address(struct field_writer *fields, int fd);
void put_peer_address(struct field_writer *fields, int fd);

#endif
