#include "incoming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "request.h"
#include "still.h"
#include "use.h"

size_t incoming_head_wanted(const struct connection *connection) {
  if (connection->header_length < HEAD_BYTES) return HEAD_BYTES - connection->header_length;
  return connection->fields_wanted - connection->fields_length;
}

static void refuse_head(struct connection *connection, enum head_result result) {
  if (result != HEAD_WRONG_VERSION) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, "this is no head of the guest protocol");
    return;
  }
  char text[128];
  snprintf(text, sizeof text, "the host speaks version %u of the guest protocol, the guest version %u: use the same release for both", connection->header[2], VERSION);
  connection_fail(connection, GUEST_ERROR_VERSION_MISMATCH, 0, text);
}

static void take_header(struct connection *connection) {
  struct head head;
  enum head_result result = parse_head(connection->header, &head);
  if (result != HEAD_OK) {
    refuse_head(connection, result);
    return;
  }
  connection->asked = head.operation;
  connection->fields_wanted = head.length;
  connection->fields = malloc(head.length + 1u);
  if (connection->fields == NULL) connection_fail(connection, GUEST_ERROR_TOO_MANY, 0, "no memory for the request");
}

/* The time of the comparison may tell the length of the secret, but not how many characters were right. */
static bool is_secret(const char *expected, const char *given) {
  size_t length = strlen(expected);
  if (given == NULL || strlen(given) != length) return false;
  unsigned different = 0;
  for (size_t i = 0; i < length; i++) different |= (unsigned)(expected[i] ^ given[i]);
  return different == 0;
}

static void start(struct connection *connection, const struct request *request) {
  const char *secret = connection->loop->options->secret;
  if (secret != NULL && !is_secret(secret, request->secret)) {
    connection_fail(connection, GUEST_ERROR_UNAUTHORIZED, 0, "the head does not carry this sandbox's secret");
    return;
  }
  const struct operation *operation = find_operation(request->operation);
  connection->state = operation->state_bytes == 0 ? NULL : calloc(1, operation->state_bytes);
  if (operation->state_bytes > 0 && connection->state == NULL) {
    connection_fail(connection, GUEST_ERROR_TOO_MANY, ENOMEM, "no memory for the operation");
    return;
  }
  connection->operation = operation;
  operation->start(connection, request);
}

void incoming_start(struct connection *connection) {
  struct request request;
  const char *wrong = parse_request(&request, connection->asked, connection->fields, connection->fields_length);
  connection->header_length = 0;
  connection->phase = PHASE_OPEN;
  if (wrong != NULL) connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, wrong);
  else start(connection, &request);
  free_request(&request);
  free(connection->fields);
  connection->fields = NULL;
}

static void take_head(struct connection *connection) {
  if (is_use(connection->asked)) use_count(connection->loop);
  if (still_holds_head(connection)) connection->held = ++connection->loop->heads_held;
  else incoming_start(connection);
}

void incoming_head(struct connection *connection, const uint8_t *bytes, size_t length) {
  if (connection->header_length < HEAD_BYTES) {
    memcpy(&connection->header[connection->header_length], bytes, length);
    connection->header_length += length;
    if (connection->header_length < HEAD_BYTES) return;
    take_header(connection);
  } else {
    memcpy(&connection->fields[connection->fields_length], bytes, length);
    connection->fields_length += length;
  }
  if (connection->phase == PHASE_HEAD && connection->fields_length == connection->fields_wanted) take_head(connection);
}

static const char *check_frame(struct connection *connection, const struct frame_header *frame) {
  bool controlled = connection->operation->control != NULL;
  bool known = frame->channel < connection->channel_count;
  struct channel *channel = known ? &connection->channels[frame->channel] : NULL;
  switch (frame->type) {
    case FRAME_DATA:
      if (!known || !channel->takes || channel->end_came) return "DATA on a channel that takes none";
      return frame->length <= channel->window ? NULL : "DATA beyond the channel's credit";
    case FRAME_END: return known && frame->length == 0 ? NULL : "END with a payload or on an unknown channel";
    case FRAME_CREDIT: return known && frame->length == 4 ? NULL : "CREDIT of a wrong length or on an unknown channel";
    case FRAME_SIGNAL: return controlled && frame->length == 4 ? NULL : "SIGNAL of a wrong length or outside an EXEC";
    case FRAME_RESIZE: return controlled && frame->length == 4 ? NULL : "RESIZE of a wrong length or outside an EXEC";
    case FRAME_DETACH: return connection->kept_name[0] != 0 && frame->length == 0 ? NULL : "DETACH with a payload or from what is not kept";
    default: return "a frame that only the guest sends";
  }
}

static bool act(struct connection *connection) {
  switch (connection->frame.type) {
    case FRAME_END: channel_take_end(&connection->channels[connection->frame.channel]); return true;
    case FRAME_CREDIT: return channel_grant(&connection->channels[connection->frame.channel], get_u32(connection->small));
    case FRAME_SIGNAL:
    case FRAME_RESIZE: return connection->operation->control(connection, connection->frame.type, connection->small);
    case FRAME_DETACH: connection_lose(connection, true); return true;
    default: return true;
  }
}

static void finish_frame(struct connection *connection) {
  connection->in_frame = false;
  connection->header_length = 0;
  if (!act(connection)) connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, "a credit, a signal or a size beyond any sense");
}

static size_t take_frame_header(struct connection *connection, const uint8_t *bytes, size_t length) {
  size_t wanted = FRAME_HEADER_BYTES - connection->header_length;
  size_t taken = length < wanted ? length : wanted;
  memcpy(&connection->header[connection->header_length], bytes, taken);
  connection->header_length += taken;
  if (taken < wanted) return taken;
  const char *wrong = parse_frame_header(connection->header, &connection->frame) ? check_frame(connection, &connection->frame) : "a malformed frame";
  if (wrong != NULL) {
    connection_fail(connection, GUEST_ERROR_BAD_REQUEST, 0, wrong);
    return taken;
  }
  connection->in_frame = true;
  connection->frame_left = connection->frame.length;
  if (connection->frame.type == FRAME_DATA) connection->channels[connection->frame.channel].window -= connection->frame.length;
  if (connection->frame_left == 0) finish_frame(connection);
  return taken;
}

static size_t take_payload(struct connection *connection, const uint8_t *bytes, size_t length) {
  size_t taken = length < connection->frame_left ? length : connection->frame_left;
  if (connection->frame.type == FRAME_DATA) channel_take(&connection->channels[connection->frame.channel], bytes, taken);
  else memcpy(&connection->small[connection->frame.length - connection->frame_left], bytes, taken);
  connection->frame_left -= (uint32_t)taken;
  if (connection->frame_left == 0 && connection->phase == PHASE_OPEN) finish_frame(connection);
  return taken;
}

void incoming_frames(struct connection *connection, const uint8_t *bytes, size_t length) {
  for (size_t done = 0; done < length && connection->phase == PHASE_OPEN;) {
    done += connection->in_frame ? take_payload(connection, &bytes[done], length - done) : take_frame_header(connection, &bytes[done], length - done);
  }
}
