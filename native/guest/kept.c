#include "kept.h"

#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "exec.h"
#include "request.h"

#define KEPT_MAX 64u
#define WAITING_MAX 256u
#define NOTE_BYTES_MAX 8192u

/* A stream that waits for a kept command. */
struct attach {
  char name[SERVICE_NAME_BYTES];
  uint64_t number;
};

static struct connection *find(const struct loop *loop, const char *name) {
  struct connection *at = loop->connections;
  while (at != NULL && strcmp(at->kept_name, name) != 0) at = at->next;
  return at;
}

static const char *check(const struct request *request) {
  if (!is_service_name(request->name)) return "a NAME of what is kept is 1 to 32 of a-z, 0-9 and -";
  if (request->value_length > NOTE_BYTES_MAX) return "a VALUE of what is kept has at most 8192 bytes";
  if (has_flag(request, FLAG_STAYS)) return NULL;
  if (has_flag(request, FLAG_TERMINAL) || !has_flag(request, FLAG_NO_STDIN)) return "a kept EXEC has no terminal and no stdin";
  return request->timeout_ms > 0 ? "a kept EXEC has no TIMEOUT_MS" : NULL;
}

/* Of those that have ended without a stream the oldest is forgotten. */
static bool make_room(struct loop *loop) {
  size_t count = 0;
  struct connection *ended = NULL;
  for (struct connection *at = loop->connections; at != NULL; at = at->next) {
    if (at->kept_name[0] == 0) continue;
    count++;
    if (at->phase == PHASE_DETACHED && !at->alive) ended = at;
  }
  if (count < KEPT_MAX) return true;
  if (ended != NULL) connection_close(ended);
  return ended != NULL;
}

static bool keep_note(struct connection *connection, const struct request *request) {
  if (request->value_length == 0) return true;
  connection->note = malloc(request->value_length);
  if (connection->note == NULL) return false;
  memcpy(connection->note, request->value, request->value_length);
  connection->note_length = request->value_length;
  return true;
}

bool keep_as_named(struct connection *connection, const struct request *request) {
  const char *wrong = check(request);
  if (wrong != NULL) connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, wrong);
  else if (find(connection->loop, request->name) != NULL) connection_fail(connection, GUEST_ERROR_ALREADY_EXISTS, 0, "a kept command has this name: attach to it");
  else if (!make_room(connection->loop)) connection_fail(connection, GUEST_ERROR_TOO_MANY, 0, "64 commands are kept: end one of them");
  else if (!keep_note(connection, request)) connection_fail(connection, GUEST_ERROR_TOO_MANY, 0, "no memory for the VALUE");
  else memcpy(connection->kept_name, request->name, strlen(request->name));
  connection->stays = has_flag(request, FLAG_STAYS);
  return connection->kept_name[0] != 0;
}

void release_name(struct connection *connection) {
  if (connection->kept_name[0] == 0) return;
  connection->kept_name[0] = 0;
  connection->loop->kept_changed = true;
}

bool detach_kept(struct connection *connection, bool asked) {
  if (connection->kept_name[0] == 0 || !exec_has_started(connection)) return false;
  connection->cut = !asked && !connection->stays;
  if (connection->cut) exec_interrupt(connection);
  exec_rest(connection);
  /* A timeout goes on. The time to drain does not: the next stream has its own. */
  if (!connection->alive) connection->deadline_us = 0;
  connection->loop->kept_changed = true;
  return true;
}

static void send_row(struct connection *connection, const struct connection *kept) {
  uint8_t bytes[64];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_text(&fields, TAG_NAME, kept->kept_name);
  if (kept->alive) put_number(&fields, TAG_PID, (uint64_t)kept->pid);
  connection_send(connection, (struct frame_header){FRAME_ENTRY, 0, (uint32_t)fields.length}, bytes);
}

/* Also of one that has ended. */
static void send_note(struct connection *connection, const struct connection *kept) {
  uint8_t frame[FRAME_HEADER_BYTES + NOTE_BYTES_MAX + 64];
  struct field_writer fields;
  field_writer_init(&fields, &frame[FRAME_HEADER_BYTES], sizeof frame - FRAME_HEADER_BYTES);
  put_text(&fields, TAG_NAME, kept->kept_name);
  put_number(&fields, TAG_PID, (uint64_t)kept->pid);
  if (kept->note_length > 0) put_bytes(&fields, TAG_VALUE, kept->note, kept->note_length);
  write_frame_header(frame, (struct frame_header){FRAME_ENTRY, 0, (uint32_t)fields.length});
  connection_send_bytes(connection, frame, FRAME_HEADER_BYTES + fields.length);
}

void list_kept(struct connection *connection, const struct request *request) {
  for (const struct connection *at = connection->loop->connections; at != NULL && request->name == NULL; at = at->next) {
    if (at->kept_name[0] != 0) send_row(connection, at);
  }
  const struct connection *named = request->name == NULL || request->name[0] == 0 ? NULL : find(connection->loop, request->name);
  if (named != NULL) send_note(connection, named);
  connection_send(connection, (struct frame_header){FRAME_REPLY, 0, 0}, NULL);
  connection_end(connection);
}

static size_t count_waiting(const struct loop *loop) {
  size_t count = 0;
  for (const struct connection *at = loop->connections; at != NULL; at = at->next) {
    if (at->operation == &ATTACH && at->phase == PHASE_OPEN) count++;
  }
  return count;
}

static void start_attach(struct connection *connection, const struct request *request) {
  struct attach *attach = connection->state;
  if (!is_service_name(request->name)) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, "a NAME of what is kept is 1 to 32 of a-z, 0-9 and -");
    return;
  }
  if (count_waiting(connection->loop) >= WAITING_MAX) {
    connection_fail(connection, GUEST_ERROR_TOO_MANY, 0, "256 streams wait for kept commands: let some end");
    return;
  }
  memcpy(attach->name, request->name, strlen(request->name));
  attach->number = ++connection->loop->attaches;
  connection->loop->kept_changed = true;
  connection_send(connection, (struct frame_header){FRAME_EVENT, 0, 0}, NULL);
}

/* The ATTACH that waits longest for the name, or for any name that nobody has. */
static struct connection *first_waiting(const struct loop *loop, const char *name) {
  struct connection *first = NULL;
  for (struct connection *at = loop->connections; at != NULL; at = at->next) {
    if (at->operation != &ATTACH || at->phase != PHASE_OPEN) continue;
    const struct attach *attach = at->state;
    bool wanted = name != NULL ? strcmp(attach->name, name) == 0 : find(loop, attach->name) == NULL;
    if (wanted && (first == NULL || attach->number < ((const struct attach *)first->state)->number)) first = at;
  }
  return first;
}

static void give_turns(struct loop *loop) {
  struct connection *next;
  for (struct connection *kept = loop->connections; kept != NULL; kept = next) {
    struct connection *attach = kept->phase == PHASE_DETACHED ? first_waiting(loop, kept->kept_name) : NULL;
    if (attach != NULL) {
      connection_take_socket(kept, attach);
      exec_resume(kept);
    }
    next = kept->next;
  }
}

void kept_settle(struct loop *loop) {
  while (loop->kept_changed) {
    loop->kept_changed = false;
    give_turns(loop);
    struct connection *lost;
    while ((lost = first_waiting(loop, NULL)) != NULL) {
      connection_fail(lost, GUEST_ERROR_NO_SUCH_PROCESS, 0, "no kept command has this name");
      connection_settle(lost);
    }
  }
}

const struct operation ATTACH = {.state_bytes = sizeof(struct attach), .start = start_attach};
