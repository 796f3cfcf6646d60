#include "operation.h"

#include "connection.h"
#include "kept.h"

static void answer_ping(struct connection *connection, const struct request *request) {
  (void)request;
  connection_send(connection, (struct frame_header){FRAME_REPLY, 0, 0}, NULL);
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
    default: return &WORK;
  }
}
