/* The input is what a client of sudo sends: the number of descriptors, an operation, fields, or the frame of a signal. */
#include <stdlib.h>
#include <string.h>

#include "sudo-door.h"
#include "sudo-request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds) {
  if (!holds) abort();
}

static void decode_signal(const uint8_t *data, size_t size) {
  if (size < SUDO_SIGNAL_BYTES) return;
  int number = parse_sudo_signal(data);
  check(number >= 0 && number <= 64);
}

/* What is taken names a command, its streams, and variables alone: nothing that only the host may ask for. */
static void decode_request(size_t descriptors, uint8_t operation, const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size + 1);
  check(bytes != NULL);
  memcpy(bytes, data, size);
  struct request request;
  if (parse_sudo_request(&request, operation, bytes, size, descriptors) == NULL) {
    check(operation == OPERATION_EXEC && request.args.count > 0 && request.args.items[request.args.count] == NULL);
    check(request.channels == 0 && request.timeout_ms == 0 && request.secret == NULL);
    check(descriptors >= SUDO_STREAMS && descriptors <= SUDO_DESCRIPTORS_MAX);
    check(has_flag(&request, FLAG_TERMINAL) == (descriptors == SUDO_DESCRIPTORS_MAX));
    for (size_t i = 0; i < request.env.count; i++) check(strchr(request.env.items[i], '=') > request.env.items[i]);
  }
  free_request(&request);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  if (data[0] == 0) decode_signal(&data[1], size - 1);
  else decode_request(data[0], data[1], &data[2], size - 2);
  return 0;
}
