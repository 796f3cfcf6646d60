#include "sudo-request.h"

#include <string.h>

#include "sudo-door.h"

#define SIGNALS_MAX 64u

static const uint8_t TAKEN[] = {TAG_ARG, TAG_ENV, TAG_CWD, TAG_USER, TAG_FLAGS};

static bool has_other_field(const struct request *request) {
  uint64_t taken = 0;
  for (size_t i = 0; i < sizeof TAKEN; i++) taken |= (uint64_t)1 << TAKEN[i];
  return (request->present & ~taken) != 0;
}

static bool is_variable(const char *entry) { return entry[0] != '=' && strchr(entry, '=') != NULL; }

static const char *check(const struct request *request, size_t descriptors) {
  if (has_other_field(request)) return "sudo sends ARG, ENV, CWD, USER and FLAGS alone";
  if ((request->flags & ~(uint32_t)FLAG_TERMINAL) != 0) return "sudo knows no such flag";
  if (descriptors != SUDO_STREAMS + (has_flag(request, FLAG_TERMINAL) ? 1u : 0u)) return "sudo sends three streams, and a terminal if it says so";
  for (size_t i = 0; i < request->env.count; i++)
    if (!is_variable(request->env.items[i])) return "an ENV that is not NAME=value";
  return NULL;
}

const char *parse_sudo_request(struct request *request, uint8_t operation, uint8_t *bytes, size_t length, size_t descriptors) {
  const char *wrong = parse_request(request, operation, bytes, length);
  if (wrong != NULL) return wrong;
  return operation == OPERATION_EXEC ? check(request, descriptors) : "sudo sends EXEC alone";
}

int parse_sudo_signal(const uint8_t bytes[SUDO_SIGNAL_BYTES]) {
  struct frame_header header;
  if (!parse_frame_header(bytes, &header) || header.type != FRAME_SIGNAL || header.channel != 0 || header.length != 4) return 0;
  uint32_t number = get_u32(&bytes[FRAME_HEADER_BYTES]);
  return number > SIGNALS_MAX ? 0 : (int)number;
}
