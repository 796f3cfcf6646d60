/* What a spare keeper makes ahead: the fields of a specification that are the same for all sandboxes of one user in one place. */
#ifndef BELLJAR_PATTERN_H
#define BELLJAR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With a head before it, it fits into the smallest pipe. */
#define PATTERN_MAX 2048u

struct pattern {
  uint8_t bytes[PATTERN_MAX];
  size_t length; /* 0: nothing can be made ahead for such a specification */
};

/* `fields` are a specification's, without their head. */
void read_pattern(const uint8_t *fields, size_t length, struct pattern *pattern);
/* True: what was made ahead by the one can be used by specifications of the other. */
bool is_same_pattern(const struct pattern *one, const struct pattern *other);

#endif
