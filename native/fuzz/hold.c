/* The input is a message to the holder. It is no request, or all that the holder relies on holds. */
#include <stdlib.h>
#include <string.h>

#include "hold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds) {
  if (!holds) abort();
}

/* The id becomes a folder's name. Whoever joins names no folder. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct hold_request request;
  if (!parse_hold_request(data, size, &request)) return 0;
  check(size == sizeof request && request.version == HOLD_VERSION);
  check(request.operation >= HOLD_MAKE && request.operation <= HOLD_VIEW);
  check(request.operation != HOLD_MAKE || request.bytes > 0);
  check(request.bytes <= BYTES_MAX);
  check(request.operation == HOLD_JOIN || (strnlen(request.id, sizeof request.id) == ID_LENGTH && strpbrk(request.id, "/.") == NULL));
  return 0;
}
