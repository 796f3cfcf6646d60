/* Nothing here blocks on a client. Replies are small; a client whose socket has no room for a reply is dropped without it. */
#include "clients.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"

/* Every process that has the sandbox open waits for its end. The other places stay free for requests. */
#define WAITERS_MAX 768u
#define REPLY_MAX 256

static void drop(struct clients *clients, struct client *client) {
  close(client->fd);
  if (client->waiting == WAITS_FOR_END) clients->waiter_count--;
  clients->count--;
  client->open = false;
}

void client_reply(struct clients *clients, struct client *client, const struct field_writer *fields) {
  uint8_t frame[FRAME_HEADER_BYTES + REPLY_MAX];
  size_t length = fields == NULL ? 0 : fields->length;
  write_frame_header(frame, (struct frame_header){.type = FRAME_REPLY, .length = (uint32_t)length});
  if (length > 0) memcpy(frame + FRAME_HEADER_BYTES, fields->bytes, length);
  send(client->fd, frame, FRAME_HEADER_BYTES + length, MSG_NOSIGNAL | MSG_DONTWAIT);
  drop(clients, client);
}

void client_refuse(struct clients *clients, struct client *client, uint16_t code, int error, const char *text) {
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  size_t length = write_error_frame(frame, sizeof frame, code, error, text);
  send(client->fd, frame, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  drop(clients, client);
}

bool clients_accept(struct clients *clients, int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return false;
  size_t i = 0;
  while (clients->at[i].open) i++;
  clients->at[i] = (struct client){.open = true, .fd = fd};
  clients->count++;
  if (i >= clients->end) clients->end = i + 1;
  return true;
}

/* A reason is a word of the error table. It needs no escape in the line of JSON that it is written into. */
static bool is_reason(const char *text) {
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
  return length > 0 && length < REASON_MAX && text[length] == 0;
}

/* It becomes a part of a folder's name. */
static bool is_layer_id(const char *text) {
  return text != NULL && strlen(text) == LAYER_ID_LENGTH && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789") == LAYER_ID_LENGTH;
}

static bool parse_gap(const struct field *setup, struct keeper_request *request) {
  struct fields fields;
  struct field field;
  enum field_result result;
  if (request->gap_count == GAPS_MAX) return false;
  fields_init(&fields, (uint8_t *)(uintptr_t)setup->text, setup->length); /* read in place, as the whole */
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    if (field.tag == TAG_NAME) request->gaps[request->gap_count].overlay = field.text;
    else if (field.tag == TAG_OFFSET && field.number <= UINT16_MAX) request->gaps[request->gap_count].above = (unsigned)field.number;
    else if (field.tag == TAG_LIMIT && field.number <= UINT16_MAX) request->gaps[request->gap_count].count = (unsigned)field.number;
    else return false;
  }
  return result == FIELD_END && request->gaps[request->gap_count++].overlay != NULL;
}

/* The flag means something else to each of the two operations that have it. */
static bool take_flag(struct keeper_request *request, bool flag) {
  request->only_tells = flag && request->operation == OPERATION_KEEPER_RAISE;
  request->is_brief = flag && request->operation == OPERATION_KEEPER_STATUS;
  return request->only_tells || request->is_brief || !flag;
}

/* Only a raise has a layer, and only with one that takes the place of others there are gaps. */
static bool has_fit_layers(const struct keeper_request *request) {
  if (request->operation != OPERATION_KEEPER_RAISE) return request->layer == NULL && request->merged == NULL && request->gap_count == 0;
  return is_layer_id(request->layer) && (request->merged == NULL ? request->gap_count == 0 : is_layer_id(request->merged));
}

static bool parse_keeper_request(struct client *client, struct head head, struct keeper_request *request) {
  *request = (struct keeper_request){.operation = head.operation, .reason = "killed"};
  struct fields fields;
  struct field field;
  enum field_result result;
  bool fits = true;
  fields_init(&fields, client->request + HEAD_BYTES, head.length);
  while ((result = fields_next(&fields, &field)) == FIELD_READ) {
    if (field.tag == TAG_DEADLINE_MS) request->deadline_ms = field.number;
    else if (field.tag == TAG_ACTION) request->action = (enum deadline_action)field.number;
    else if (field.tag == TAG_IDLE_MS) request->idle_ms = field.number;
    else if (field.tag == TAG_REASON) request->reason = field.text;
    else if (field.tag == TAG_ID) request->layer = field.text;
    else if (field.tag == TAG_FLAGS) fits &= take_flag(request, field.number != 0);
    else if (field.tag == TAG_LOWER) request->merged = field.text;
    else if (field.tag != TAG_SETUP || !parse_gap(&field, request)) return false;
  }
  return result == FIELD_END && is_reason(request->reason) && request->action <= DEADLINE_ACTION_STOP && request->idle_ms <= IDLE_MAX_MS && has_fit_layers(request) && fits;
}

/* False: the client has gone. */
static bool receive(struct client *client) {
  ssize_t got = recv(client->fd, client->request + client->length, sizeof client->request - client->length, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got > 0) client->length += (size_t)got;
  return got > 0;
}

bool client_read(struct clients *clients, struct client *client, struct keeper_request *request) {
  /* A client that waits sends nothing more. Any event on its socket ends it. */
  if (client->waiting != WAITS_NOT || !receive(client)) {
    drop(clients, client);
    return false;
  }
  if (client->length < HEAD_BYTES) return false;
  struct head head;
  enum head_result result = parse_head(client->request, &head);
  if (result != HEAD_OK || head.length > REQUEST_MAX) {
    uint16_t code = result == HEAD_WRONG_VERSION ? GUEST_ERROR_VERSION_MISMATCH : GUEST_ERROR_BAD_REQUEST;
    client_refuse(clients, client, code, 0, "the keeper speaks version 1 of the protocol and takes small requests");
    return false;
  }
  if (client->length < HEAD_BYTES + head.length) return false;
  if (parse_keeper_request(client, head, request)) return true;
  client_refuse(clients, client, GUEST_ERROR_BAD_REQUEST, 0, "malformed request to the keeper");
  return false;
}

void client_wait(struct clients *clients, struct client *client, enum waiting waiting) {
  if (waiting == WAITS_FOR_END && clients->waiter_count >= WAITERS_MAX) {
    client_refuse(clients, client, GUEST_ERROR_TOO_MANY, 0, "as many processes as can wait for the sandbox's end already");
    return;
  }
  client->waiting = waiting;
  if (waiting == WAITS_FOR_END) clients->waiter_count++;
}

void clients_answer(struct clients *clients, enum waiting waiting, const struct field_writer *fields) {
  for (size_t i = 0; i < clients->end; i++)
    if (clients->at[i].open && clients->at[i].waiting == waiting) client_reply(clients, &clients->at[i], fields);
}

void clients_tell(struct clients *clients, enum waiting waiting, const char *reason) {
  uint8_t bytes[REPLY_MAX];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  put_text(&fields, TAG_REASON, reason);
  clients_answer(clients, waiting, &fields);
}
