/* What a fuzzer feeds: the fields of a jail's specification. It is refused, or holds what the jail relies on. */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static jmp_buf refused;

/* The jail's own end the process. */
void refuse(const char *what) {
  (void)what;
  longjmp(refused, 1);
}

void die(const char *step) { refuse(step); }

static void check(int holds) {
  if (!holds) abort();
}

static void check_spec(const struct spec *spec) {
  check(strlen(spec->id) == 20 && spec->folder != NULL && spec->sockets != NULL && spec->layers != NULL);
  check(spec->step_count <= STEPS_MAX && spec->source_count <= SOURCES_MAX);
  for (size_t i = 0; i < spec->step_count; i++) {
    const struct step *step = &spec->steps[i];
    check(step->first_source + step->source_count <= spec->source_count);
  }
  for (size_t i = 0; i < spec->source_count; i++) check(spec->sources[i].path != NULL && spec->sources[i].path[0] == '/');
}

/* The bytes are exactly as long as the input, so that a byte read or written beyond them is caught. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct spec_bytes raw = {.bytes = malloc(size), .length = size};
  struct spec *spec = malloc(sizeof *spec);
  check(raw.bytes != NULL && spec != NULL);
  if (size > 0) memcpy(raw.bytes, data, size);
  if (setjmp(refused) == 0) {
    parse_spec(raw, spec);
    check_spec(spec);
  }
  free(spec);
  free(raw.bytes);
  return 0;
}
