#include "lowers.h"

#include <stdio.h>
#include <string.h>

void take_sources(struct lowers *lowers, const struct step *step) {
  lowers->count = step->source_count;
  for (unsigned i = 0; i < step->source_count; i++) lowers->numbers[i] = step->first_source + i;
}

unsigned raised_number(unsigned raise) { return SOURCES_MAX + 2 * raise; }

unsigned merged_number(unsigned raise) { return SOURCES_MAX + 2 * raise + 1; }

bool can_renew(const struct lowers *lowers, struct gap gap) {
  bool has_gap = gap.above <= lowers->count && gap.count <= lowers->count - gap.above;
  return has_gap && (gap.count > 0 || lowers->count < LOWER_LAYERS_MAX);
}

void renew_lowers(struct lowers *lowers, struct gap gap, unsigned raise) {
  const struct lowers before = *lowers;
  const unsigned *rest = before.numbers + gap.above + gap.count;
  unsigned count = 0, rest_count = before.count - gap.above - gap.count;
  lowers->numbers[count++] = raised_number(raise);
  memcpy(lowers->numbers + count, before.numbers, gap.above * sizeof before.numbers[0]);
  count += gap.above;
  if (gap.count > 0) lowers->numbers[count++] = merged_number(raise);
  memcpy(lowers->numbers + count, rest, rest_count * sizeof before.numbers[0]);
  lowers->count = count + rest_count;
}

void name_lower(const char *overlay, unsigned number, char name[LOWER_NAME_MAX]) {
  if (number < SOURCES_MAX) snprintf(name, LOWER_NAME_MAX, "%u", number);
  else snprintf(name, LOWER_NAME_MAX, "%.32s-%u", overlay, number);
}
