/* The lower layers of a sandbox's overlay, by their numbers on the stage, and what a raise (raise.h) makes of them. */
#ifndef BELLJAR_LOWERS_H
#define BELLJAR_LOWERS_H

#include "jail.h"

/*
 * The topmost first. Below SOURCES_MAX a number is that of a source. Each raise of a run has two above it: of the layer that was the writable
 * one, and of the one that takes the place of several.
 */
struct lowers {
  unsigned count;
  unsigned numbers[LOWER_LAYERS_MAX];
};

/* Neighbours among the layers of an overlay that one layer shows as well: `count` of them, below `above` others. */
struct gap {
  unsigned above, count;
};

/* What a step begins with. */
void take_sources(struct lowers *lowers, const struct step *step);
unsigned raised_number(unsigned raise);
unsigned merged_number(unsigned raise);
/* False: there are no such neighbours, or the kernel would not take one layer more. */
bool can_renew(const struct lowers *lowers, struct gap gap);
/* What was the writable layer comes on top of the others, and one layer fills the gap. */
void renew_lowers(struct lowers *lowers, struct gap gap, unsigned raise);

#define LOWER_NAME_MAX 64
/* The name of a layer on the stage. Overlays have raises in common, and each its own layers. */
void name_lower(const char *overlay, unsigned number, char name[LOWER_NAME_MAX]);

#endif
