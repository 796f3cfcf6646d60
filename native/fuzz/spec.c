/* The input is the fields of a jail's specification. The reader must refuse them, or all that the jail relies on holds. */
#include <stdlib.h>
#include <string.h>

#include "support/refusals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The buffer is exactly as long as the input, so that the sanitizer sees a byte read or written beyond it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct spec_bytes raw = {.bytes = malloc(size), .length = size};
  struct spec *spec = malloc(sizeof *spec);
  check((raw.bytes != NULL || size == 0) && spec != NULL);
  if (size > 0) memcpy(raw.bytes, data, size);
  if (setjmp(refused) == 0) {
    parse_spec(raw, spec);
    check_spec(spec);
  }
  free(spec);
  free(raw.bytes);
  return 0;
}
