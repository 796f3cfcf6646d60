/* What the host sends: the head, then frames, taken apart as their bytes come. */
#ifndef BELLJAR_INCOMING_H
#define BELLJAR_INCOMING_H

#include <stddef.h>
#include <stdint.h>

struct connection;

/* Bytes that are missing of the head. */
size_t incoming_head_wanted(const struct connection *connection);
/* Takes at most as many as were wanted, and serves the request once the head is whole. */
void incoming_head(struct connection *connection, const uint8_t *bytes, size_t length);
void incoming_frames(struct connection *connection, const uint8_t *bytes, size_t length);

#endif
