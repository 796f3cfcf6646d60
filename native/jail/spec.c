/* Reads the jail's specification from standard input: a head and fields, as of an operation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "jail.h"

struct spec_bytes read_spec(int fd) {
  uint8_t start[HEAD_BYTES];
  struct head head;
  if (!read_whole(fd, start, sizeof start)) refuse("no specification on standard input");
  if (parse_head(start, &head) != HEAD_OK || head.operation != OPERATION_JAIL) refuse("not a specification of this version");
  struct spec_bytes raw = {.bytes = malloc(head.length + 1), .length = head.length};
  if (raw.bytes == NULL) die("keep the specification");
  if (!read_whole(fd, raw.bytes, raw.length)) refuse("the specification is cut short");
  return raw;
}

static void next_or_refuse(enum field_result result) {
  if (result == FIELD_BAD) refuse("a field of the specification is malformed");
}

static void add_source(struct spec *spec, struct step *step, struct source source) {
  if (spec->source_count == SOURCES_MAX) refuse("too many layers and binds");
  if (source.ids > IDS_HELD) refuse("a source with unknown ids");
  if (source.path == NULL || source.path[0] != '/') refuse("a source is not an absolute path");
  if (step->source_count == 0) step->first_source = spec->source_count;
  step->source_count++;
  spec->sources[spec->source_count++] = source;
}

/* The name becomes a folder's name. */
bool is_layer_name(const char *text) {
  size_t length = text == NULL ? 0 : strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
  return length > 0 && length <= LAYER_NAME_MAX && text[length] == 0;
}

/* A lower layer is one digit and a path. The digit says whose ids its files have. */
static struct source lower_source(const char *text) {
  if (text[0] != '0' + IDS_HOST && text[0] != '0' + IDS_LAYER && text[0] != '0' + IDS_WORKSPACE && text[0] != '0' + IDS_HELD)
    refuse("a layer does not say whose ids it has");
  if (text[0] == '0' + IDS_HELD && !is_plain_path(text + 1)) refuse("a layer that lies with the writable ones has no plain path");
  return (struct source){.path = text + 1, .ids = (enum ids)(text[0] - '0'), .writable = false};
}

bool is_plain_path(const char *path) {
  if (strlen(path) >= PATH_MAX || path[0] != '/' || path[1] == 0) return false;
  while (*path == '/') {
    size_t length = strcspn(++path, "/");
    if (length == 0 || length > NAME_MAX) return false;
    if (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))) return false;
    path += length;
  }
  return true;
}

/* Checks that the step has exactly the sources that its kind mounts. */
static void finish_step(struct spec *spec, struct step *step, struct source bind) {
  bool is_overlay = step->kind == SETUP_OVERLAY;
  if (step->kind < SETUP_OVERLAY || step->kind > SETUP_LINK) refuse("a step of an unknown kind");
  if (is_overlay && (step->source_count == 0 || !is_layer_name(step->name))) refuse("an overlay without layers or name");
  if (step->source_count > LOWER_LAYERS_MAX) refuse("an overlay has more layers than the kernel takes");
  if (!is_overlay && step->source_count > 0) refuse("a step has layers, and is no overlay");
  if (!is_overlay && bind.ids == IDS_HELD) refuse("only a layer lies with the writable ones");
  if (step->kind == SETUP_BIND || step->kind == SETUP_VIEW) add_source(spec, step, bind);
  if (step->kind >= SETUP_FOLDER && !is_plain_path(step->target)) refuse("a folder or link of the root is no plain path");
  if (step->kind == SETUP_LINK && (bind.path == NULL || !is_plain_path(bind.path))) refuse("a link leads to no plain path");
  step->link = bind.path;
  if (step->size > BYTES_MAX) refuse("a step's size is beyond any sense");
}

static void parse_step(struct spec *spec, const struct field *setup) {
  if (spec->step_count == STEPS_MAX) refuse("too many steps");
  struct step *step = &spec->steps[spec->step_count++];
  struct source bind = {.path = NULL};
  struct fields fields;
  struct field field;
  enum field_result result;
  /* Fields are read in place, in the buffer of the whole list. */
  fields_init(&fields, (uint8_t *)(uintptr_t)setup->text, setup->length);
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    switch (field.tag) {
      case TAG_KIND: step->kind = (enum setup)field.number; break;
      case TAG_TARGET: step->target = field.text; break;
      case TAG_NAME: step->name = field.text; break;
      case TAG_SIZE: step->size = field.number; break;
      case TAG_UID: step->owner = (uint32_t)field.number; break;
      case TAG_MODE: step->mode = (uint32_t)field.number; break;
      case TAG_PATH: bind.path = field.text; break;
      case TAG_IDS: bind.ids = (enum ids)field.number; break;
      case TAG_FLAGS:
        bind.writable = (field.number & SETUP_WRITABLE) != 0;
        step->renames = (field.number & SETUP_RENAMES) != 0;
        break;
      case TAG_LOWER: add_source(spec, step, lower_source(field.text)); break;
      default: refuse("a step has a field that it cannot have");
    }
  }
  next_or_refuse(result);
  if (step->target == NULL || step->target[0] != '/') refuse("a step has no target");
  finish_step(spec, step, bind);
}

static void parse_cgroup(struct spec *spec, const struct field *value) {
  if (spec->cgroup_count == CGROUPS_MAX) refuse("too many control groups");
  struct cgroup *cgroup = &spec->cgroups[spec->cgroup_count++];
  struct fields fields;
  struct field field;
  enum field_result result;
  fields_init(&fields, (uint8_t *)(uintptr_t)value->text, value->length);
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    if (field.tag == TAG_KIND) cgroup->kind = (enum cgroup_kind)field.number;
    else if (field.tag == TAG_PATH) cgroup->path = field.text;
    else refuse("a control group has a field that it cannot have");
  }
  next_or_refuse(result);
  if (cgroup->path == NULL || cgroup->path[0] != '/') refuse("a control group has no path");
  if (cgroup->kind < CGROUP_MEMORY || cgroup->kind > CGROUP_V2) refuse("a control group of an unknown kind");
}

static void parse_field(struct spec *spec, const struct field *field) {
  switch (field->tag) {
    case TAG_ID: spec->id = field->text; break;
    case TAG_HOSTNAME: spec->hostname = field->text; break;
    case TAG_FOLDER: spec->folder = field->text; break;
    case TAG_SOCKETS: spec->sockets = field->text; break;
    case TAG_LAYERS: spec->layers = field->text; break;
    case TAG_SLOTS: spec->slots = field->text; break;
    case TAG_SLOT: spec->slot_hint = (uint32_t)field->number; break;
    case TAG_ID_MAP: spec->id_map = (enum id_map)field->number; break;
    case TAG_SUBUID: spec->subuid = (uint32_t)field->number; break;
    case TAG_SUBGID: spec->subgid = (uint32_t)field->number; break;
    case TAG_NEWUIDMAP: spec->newuidmap = field->text; break;
    case TAG_NEWGIDMAP: spec->newgidmap = field->text; break;
    case TAG_WORKSPACE_UID: spec->workspace_uid = (uint32_t)field->number; break;
    case TAG_WORKSPACE_GID: spec->workspace_gid = (uint32_t)field->number; break;
    case TAG_STORAGE: spec->storage = (enum storage)field->number; break;
    case TAG_LIMIT_MEMORY: spec->memory = field->number; break;
    case TAG_LIMIT_DISK: spec->disk = field->number; break;
    case TAG_LIMIT_CPU_MILLI: spec->cpu_milli = (uint32_t)field->number; break;
    case TAG_LIMIT_PIDS: spec->pids = (uint32_t)field->number; break;
    case TAG_LIMIT_FILES: spec->files = (uint32_t)field->number; break;
    case TAG_DEADLINE_MS: spec->deadline_ms = field->number; break;
    case TAG_ACTION: spec->action = (enum deadline_action)field->number; break;
    case TAG_RUN: spec->run = (uint32_t)field->number; break;
    case TAG_VALUE: spec->boot_id = field->text; break;
    case TAG_SEED: spec->seed = field->text; break;
    case TAG_USER: spec->user = field->text; break;
    case TAG_CWD: spec->start_folder = field->text; break;
    case TAG_PATH: spec->layer = field->text; break;
    case TAG_TARGET: spec->frozen = field->text; break;
    case TAG_KIND: spec->job = (uint32_t)field->number; break;
    case TAG_FLAGS:
      spec->ephemeral = (field->number & JAIL_EPHEMERAL) != 0;
      spec->keeper_is_gone = (field->number & JAIL_KEEPER_IS_GONE) != 0;
      spec->end_keeper = (field->number & JAIL_END_KEEPER) != 0;
      spec->nested_filters = (field->number & JAIL_NESTED_FILTERS) != 0;
      spec->has_layers = (field->number & JAIL_HAS_LAYERS) != 0;
      spec->remove_layers = (field->number & JAIL_REMOVE_LAYERS) != 0;
      spec->no_root = (field->number & JAIL_NO_ROOT) != 0;
      spec->durable = (field->number & JAIL_DURABLE) != 0;
      break;
    case TAG_CGROUP: parse_cgroup(spec, field); break;
    case TAG_SETUP: parse_step(spec, field); break;
    default: refuse("the specification has a field that it cannot have");
  }
}

static bool is_id(const char *text) {
  return text != NULL && strlen(text) == ID_LENGTH && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789") == ID_LENGTH;
}

static void check_limits(const struct spec *spec) {
  if (spec->pids > PIDS_MAX || spec->memory > BYTES_MAX || spec->disk > BYTES_MAX) refuse("a limit of the specification is beyond any sense");
}

static void check_action(struct spec *spec) {
  if (spec->action == 0) spec->action = DEADLINE_ACTION_KILL;
  if (spec->action < DEADLINE_ACTION_KILL || spec->action > DEADLINE_ACTION_STOP) refuse("a deadline with an unknown action");
}

static void parse_fields(struct spec_bytes raw, struct spec *spec) {
  memset(spec, 0, sizeof *spec);
  struct fields fields;
  struct field field;
  enum field_result result;
  fields_init(&fields, raw.bytes, raw.length);
  while ((result = fields_next(&fields, &field)) == FIELD_READ) parse_field(spec, &field);
  next_or_refuse(result);
}

static void check_id_map(const struct spec *spec) {
  if (spec->id_map < ID_MAP_SLOT || spec->id_map > ID_MAP_SUBIDS) refuse("the specification has no id map");
  if (spec->id_map == ID_MAP_SLOT && spec->slots == NULL) refuse("the specification has no slots");
  if (spec->id_map == ID_MAP_SUBIDS && (spec->newuidmap == NULL || spec->newgidmap == NULL)) refuse("the specification has no newuidmap");
}

unsigned count_outer_sources(const struct spec *spec) {
  unsigned count = 0;
  for (unsigned i = 0; i < spec->source_count; i++) count += spec->sources[i].ids != IDS_HELD;
  return count;
}

void parse_pattern(struct spec_bytes raw, struct spec *spec) {
  parse_fields(raw, spec);
  check_id_map(spec);
  if (spec->id_map != ID_MAP_SLOT && spec->sockets == NULL) refuse("the pattern lacks a path");
}

void parse_spec(struct spec_bytes raw, struct spec *spec) {
  parse_fields(raw, spec);
  if (!is_id(spec->id)) refuse("the specification has no id");
  if (spec->run == 0 || spec->run > RUNS_MAX) refuse("the specification does not say which run of the sandbox it is for");
  if (spec->folder == NULL || spec->sockets == NULL || spec->layers == NULL) refuse("the specification lacks a path");
  check_id_map(spec);
  check_limits(spec);
  check_action(spec);
  if (spec->storage < STORAGE_FOLDER || spec->storage > STORAGE_BTRFS) refuse("the specification has no storage");
  if (spec->seed != NULL && spec->storage != STORAGE_BTRFS) refuse("only a subvolume can be made from another one");
}
