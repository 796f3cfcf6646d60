#include "refusals.h"

#include <stdlib.h>
#include <string.h>

jmp_buf refused;

void refuse(const char *what) {
  (void)what;
  longjmp(refused, 1);
}

void die(const char *step) { refuse(step); }

void check(int holds) {
  if (!holds) abort();
}

static void check_step(const struct spec *spec, const struct step *step) {
  check(step->kind >= SETUP_OVERLAY && step->kind <= SETUP_LINK);
  check(step->target != NULL && step->target[0] == '/');
  check(step->first_source + step->source_count <= spec->source_count);
  check(step->kind < SETUP_FOLDER || is_plain_path(step->target));
  check(step->kind != SETUP_LINK || is_plain_path(step->link));
  check(step->size <= BYTES_MAX);
  if (step->kind == SETUP_BIND || step->kind == SETUP_VIEW) check(step->source_count == 1);
  else if (step->kind != SETUP_OVERLAY) check(step->source_count == 0);
  else check(step->source_count > 0 && strlen(step->name) <= LAYER_NAME_MAX && step->name[0] != 0 && strpbrk(step->name, "/.,:") == NULL);
}

static void check_texts(const struct spec *spec) {
  check(strlen(spec->id) == 20 && strpbrk(spec->id, "/.") == NULL);
  check(spec->run > 0 && spec->run <= RUNS_MAX);
  check(spec->action >= DEADLINE_ACTION_KILL && spec->action <= DEADLINE_ACTION_STOP);
  check(spec->folder != NULL && spec->sockets != NULL && spec->layers != NULL);
  check(spec->id_map != ID_MAP_SLOT || spec->slots != NULL);
  check(spec->id_map != ID_MAP_SUBIDS || (spec->newuidmap != NULL && spec->newgidmap != NULL));
}

void check_spec(const struct spec *spec) {
  check_texts(spec);
  check(spec->step_count <= STEPS_MAX && spec->source_count <= SOURCES_MAX && spec->cgroup_count <= CGROUPS_MAX);
  check(spec->memory + RESERVED_MEMORY > spec->memory && spec->pids + GUEST_RESERVED_PROCESSES > spec->pids);
  for (size_t i = 0; i < spec->step_count; i++) check_step(spec, &spec->steps[i]);
  for (size_t i = 0; i < spec->source_count; i++) check(spec->sources[i].path != NULL && spec->sources[i].path[0] == '/' && spec->sources[i].ids <= IDS_HELD);
  for (size_t i = 0; i < spec->cgroup_count; i++) {
    check(spec->cgroups[i].path != NULL && spec->cgroups[i].path[0] == '/');
    check(spec->cgroups[i].kind >= CGROUP_MEMORY && spec->cgroups[i].kind <= CGROUP_V2);
  }
}
