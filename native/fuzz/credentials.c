/* The input is the text of /proc/TID/status of a caller. Its name, and how many groups it has, are the sandbox's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  struct credentials credentials;
  if (text == NULL) abort();
  memcpy(text, data, size);
  text[size] = 0;
  if (parse_credentials(text, &credentials)) {
    if (credentials.group_count > CREDENTIAL_GROUPS_MAX || credentials.uid == UINT32_MAX || credentials.gid == UINT32_MAX) abort();
    for (unsigned i = 0; i < credentials.group_count; i++)
      if (credentials.groups[i] == UINT32_MAX) abort();
  }
  free(text);
  return 0;
}
