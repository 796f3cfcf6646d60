#include "operation.h"

#include "connection.h"
#include "kept.h"

/* The PHASE that a keeper has for a paused sandbox. */
#define STANDS_STILL 2u

static void answer_ping(struct connection *connection, const struct request *request) {
  (void)request;
  uint8_t bytes[16];
  struct field_writer fields;
  field_writer_init(&fields, bytes, sizeof bytes);
  if (connection->loop->still != NULL) put_number(&fields, TAG_PHASE, STANDS_STILL);
  connection_send(connection, (struct frame_header){FRAME_REPLY, 0, (uint32_t)fields.length}, bytes);
  connection_end(connection);
}

static const struct operation PING = {.start = answer_ping};
static const struct operation LIST_KEPT = {.start = list_kept};

const struct operation *find_operation(uint8_t number) {
  switch (number) {
    case OPERATION_PING: return &PING;
    case OPERATION_EXEC: return &EXEC;
    case OPERATION_DIAL: return &DIAL;
    case OPERATION_ACCEPT: return &ACCEPT;
    case OPERATION_LISTEN: return &LISTEN;
    case OPERATION_ATTACH: return &ATTACH;
    case OPERATION_LIST_KEPT: return &LIST_KEPT;
    case OPERATION_SHUTDOWN: return &SHUTDOWN;
    case OPERATION_STILL: return &STILL;
    default: return &WORK;
  }
}
