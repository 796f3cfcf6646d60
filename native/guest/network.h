/* What the operations of the network share: their part of the streams and descriptors, and how an address is written. */
#ifndef BELLJAR_NETWORK_H
#define BELLJAR_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

struct connection;
struct field_writer;
struct loop;

/*
 * Counts a stream of the network with its descriptors; false when it was refused. The network takes at most a part of a sandbox's
 * streams and descriptors, so that commands can still be run.
 */
bool take_network(struct connection *connection, size_t fds);
/* The network may have so many descriptors more. */
bool network_has_fds(const struct loop *loop, size_t fds);
/* Ends the count; does nothing where there is none. */
void give_network_back(struct connection *connection);
/* ADDRESS of our end of a TCP socket, and of the other one. */
void put_local_address(struct field_writer *fields, int fd);
void put_peer_address(struct field_writer *fields, int fd);

#endif
