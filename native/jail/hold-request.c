#include <string.h>

#include "hold.h"

static bool is_id(const char id[ID_LENGTH + 1]) {
  return id[ID_LENGTH] == 0 && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ID_LENGTH;
}

bool parse_hold_request(const void *message, size_t length, struct hold_request *request) {
  if (length != sizeof *request) return false;
  memcpy(request, message, sizeof *request);
  bool is_known = request->version == HOLD_VERSION && request->operation >= HOLD_MAKE && request->operation <= HOLD_LOOK;
  bool has_size = request->bytes <= BYTES_MAX && (request->bytes > 0 || request->operation != HOLD_MAKE); /* 0 would be no limit */
  return is_known && has_size && (request->operation == HOLD_JOIN || is_id(request->id));
}
