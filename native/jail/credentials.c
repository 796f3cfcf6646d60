#include <stdlib.h>
#include <string.h>

#include "caller.h"

/* What stands behind the name of a line, or NULL. The name of the process stands in the first line, in which the kernel escapes newlines. */
static const char *find_line(const char *status, const char *name) {
  const char *line = strstr(status, name);
  return line == NULL ? NULL : line + strlen(name);
}

static bool parse_number(const char **at, int base, uint64_t *number) {
  *at += strspn(*at, "\t ");
  char *end;
  if (strspn(*at, "0123456789abcdef") == 0) return false;
  *number = strtoull(*at, &end, base);
  if (end == *at) return false;
  *at = end;
  return true;
}

/* The line has the real, the effective, the saved and the file system's id. */
static bool parse_id(const char *line, uint32_t *id) {
  uint64_t number = 0;
  for (int i = 0; i < 4; i++)
    if (line == NULL || !parse_number(&line, 10, &number)) return false;
  *id = (uint32_t)number;
  return number < UINT32_MAX;
}

static bool parse_groups(const char *line, struct credentials *credentials) {
  uint64_t number;
  credentials->group_count = 0;
  while (line != NULL && parse_number(&line, 10, &number)) {
    if (credentials->group_count == CREDENTIAL_GROUPS_MAX || number >= UINT32_MAX) return false;
    credentials->groups[credentials->group_count++] = (gid_t)number;
  }
  /* A text that was cut has no such end. */
  return line != NULL && line[strspn(line, " ")] == '\n';
}

bool parse_credentials(const char *status, struct credentials *credentials) {
  const char *capabilities = find_line(status, "\nCapEff:");
  return parse_id(find_line(status, "\nUid:"), &credentials->uid) && parse_id(find_line(status, "\nGid:"), &credentials->gid) &&
         parse_groups(find_line(status, "\nGroups:"), credentials) && capabilities != NULL && parse_number(&capabilities, 16, &credentials->effective);
}
