/* The input is the fields of what `compare` is asked. The reader must refuse them, or all that the walk relies on holds. */
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "support/refusals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_state(const struct spec *spec) {
  check_spec(spec);
  for (unsigned i = 0; i < spec->step_count; i++) {
    const struct step *step = &spec->steps[i];
    check(step->kind == SETUP_OVERLAY || step->kind == SETUP_HELD);
    check(strcmp(step->target, "/") == 0 || is_plain_path(step->target));
    check(step->source_count <= LOWER_LAYERS_MAX);
  }
}

static void check_request(const struct compare_request *request) {
  const struct spec *before = &request->specs[SIDE_BEFORE], *after = &request->specs[SIDE_AFTER];
  check_state(before);
  if (request->path != NULL) {
    check(is_plain_path(request->path));
    return;
  }
  check_state(after);
  check(before->step_count == after->step_count && before->id_map == after->id_map);
  for (unsigned i = 0; i < before->step_count; i++) check(strcmp(before->steps[i].target, after->steps[i].target) == 0);
}

/* The buffer is exactly as long as the input, so that the sanitizer sees a byte read or written beyond it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct spec_bytes raw = {.bytes = malloc(size), .length = size};
  struct compare_request *request = malloc(sizeof *request);
  check((raw.bytes != NULL || size == 0) && request != NULL);
  if (size > 0) memcpy(raw.bytes, data, size);
  if (setjmp(refused) == 0) {
    parse_compare_request(raw, request);
    check_request(request);
  }
  free(request);
  free(raw.bytes);
  return 0;
}
