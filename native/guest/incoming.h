/* Takes apart the bytes that the host sends: the head, then frames. */
#ifndef BELLJAR_INCOMING_H
#define BELLJAR_INCOMING_H

#include <stddef.h>
#include <stdint.h>

struct connection;

/* The number of bytes that the head still lacks. */
size_t incoming_head_wanted(const struct connection *connection);
/* Takes at most the bytes that incoming_head_wanted asked for. Starts the operation once the head is whole, or lets it wait for the end of a STILL. */
void incoming_head(struct connection *connection, const uint8_t *bytes, size_t length);
/* Starts the operation of a whole head. */
void incoming_start(struct connection *connection);
void incoming_frames(struct connection *connection, const uint8_t *bytes, size_t length);

#endif
