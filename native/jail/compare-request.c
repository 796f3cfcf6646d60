/* Reads what `compare` is asked: two specifications, each with the place of a sandbox and the layers of its overlays. */
#include "compare.h"

#include <string.h>

/* A side's overlays have their layers as lower ones. Its own writable layers are on top if it has any. Nothing else is mounted there. */
static void check_side(const struct spec *spec) {
  unsigned overlays = 0;
  for (unsigned i = 0; i < spec->step_count; i++) {
    const struct step *step = &spec->steps[i];
    if (step->kind != SETUP_OVERLAY && step->kind != SETUP_HELD) refuse("a state has a step that is no layer");
    if (strcmp(step->target, "/") != 0 && !is_plain_path(step->target)) refuse("an overlay lies on no plain path");
    if (step->kind == SETUP_OVERLAY) overlays++;
  }
  if (overlays == 0) refuse("a state without an overlay");
}

static bool is_same_step(const struct step *one, const struct step *other) {
  bool has_same_name = one->kind != SETUP_OVERLAY || strcmp(one->name, other->name) == 0;
  return one->kind == other->kind && strcmp(one->target, other->target) == 0 && has_same_name;
}

static void check_sides(const struct spec *one, const struct spec *other) {
  if (one->step_count != other->step_count || one->id_map != other->id_map) refuse("the two states have other overlays");
  for (unsigned i = 0; i < one->step_count; i++)
    if (!is_same_step(&one->steps[i], &other->steps[i])) refuse("the two states have other overlays");
}

static void parse_side(const struct field *field, struct spec *spec) {
  /* Fields are read in place, in the buffer of the whole list. */
  parse_spec((struct spec_bytes){.bytes = (uint8_t *)(uintptr_t)field->text, .length = field->length}, spec);
  check_side(spec);
}

void parse_compare_request(struct spec_bytes raw, struct compare_request *request) {
  struct fields fields;
  struct field field;
  enum field_result result;
  bool has[SIDE_COUNT] = {false, false};
  memset(request, 0, sizeof *request);
  fields_init(&fields, raw.bytes, raw.length);
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    switch (field.tag) {
      case TAG_BEFORE:
      case TAG_AFTER: {
        enum side side = field.tag == TAG_BEFORE ? SIDE_BEFORE : SIDE_AFTER;
        parse_side(&field, &request->specs[side]);
        has[side] = true;
        break;
      }
      case TAG_PATH: request->path = field.text; break;
      case TAG_LIMIT: request->limit = field.number; break;
      default: refuse("a request to compare has a field that it cannot have");
    }
  }
  if (result == FIELD_BAD) refuse("a field of the request is malformed");
  if (request->path != NULL && !is_plain_path(request->path)) refuse("what is to be read is no plain path");
  if (!has[SIDE_BEFORE] || has[SIDE_AFTER] != (request->path == NULL)) refuse("the request has other states than it needs");
  if (has[SIDE_AFTER]) check_sides(&request->specs[SIDE_BEFORE], &request->specs[SIDE_AFTER]);
}
