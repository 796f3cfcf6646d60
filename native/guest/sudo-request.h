/* What a client of sudo may send. The client is a program inside: none of its bytes is trusted. */
#ifndef BELLJAR_SUDO_REQUEST_H
#define BELLJAR_SUDO_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "frames.h"
#include "request.h"

#define SUDO_SIGNAL_BYTES (FRAME_HEADER_BYTES + 4u)

/* Returns NULL, or a constant sentence that says what is wrong. As parse_request: free the request in both cases, and it points into `bytes`. */
const char *parse_sudo_request(struct request *request, uint8_t operation, uint8_t *bytes, size_t length, size_t descriptors);
/* The number of a SIGNAL frame's signal, or 0 if the bytes are anything else. */
int parse_sudo_signal(const uint8_t bytes[SUDO_SIGNAL_BYTES]);

#endif
