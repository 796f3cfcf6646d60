/* The input is what a client of the keeper sends, in pieces. The client is refused, or its request is one that the keeper may act on. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds) {
  if (!holds) abort();
}

static struct clients clients;

static void check_request(const struct keeper_request *request) {
  check(request->action <= DEADLINE_ACTION_STOP && request->idle_ms <= IDLE_MAX_MS);
  check(!request->is_brief || request->operation == OPERATION_KEEPER_STATUS);
  check(!request->only_tells || request->operation == OPERATION_KEEPER_RAISE);
  check(request->gap_count <= GAPS_MAX && (request->gap_count == 0 || request->merged != NULL) && (request->merged == NULL || request->layer != NULL));
  for (unsigned i = 0; i < request->gap_count; i++) check(strlen(request->gaps[i].overlay) < REQUEST_MAX && request->gaps[i].above <= UINT16_MAX);
  size_t length = strnlen(request->reason, REASON_MAX);
  check(length > 0 && length < REASON_MAX);
  for (size_t i = 0; i < length; i++) check(request->reason[i] == '_' || (request->reason[i] >= 'a' && request->reason[i] <= 'z'));
}

/* Does what the keeper does: WAIT, KILL and STOP wait, other operations are answered at once. */
static void answer(struct client *client, const struct keeper_request *request) {
  check_request(request);
  if (request->operation == OPERATION_KEEPER_WAIT) client_wait(&clients, client, WAITS_FOR_END);
  else if (request->operation == OPERATION_KEEPER_KILL || request->operation == OPERATION_KEEPER_STOP) client_wait(&clients, client, WAITS_FOR_REMOVAL);
  else client_reply(&clients, client, NULL);
}

/* Whatever the client gets is one whole frame. */
static void check_answer(int fd) {
  uint8_t bytes[1024];
  struct frame_header header;
  ssize_t length = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (length <= 0) return;
  check((size_t)length >= FRAME_HEADER_BYTES && parse_frame_header(bytes, &header));
  check(header.type == FRAME_REPLY || header.type == FRAME_ERROR);
  check((size_t)length == FRAME_HEADER_BYTES + header.length);
}

/* The first byte is the size of the pieces. The client has the first place; nothing may run over into the second. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int ends[2];
  static const struct client untouched;
  if (size < 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return 0;
  size_t piece = 1u + data[0] % 100u;
  clients.at[0] = (struct client){.open = true, .fd = ends[0]};
  clients.count = clients.end = 1;
  clients.waiter_count = 0;
  for (size_t at = 1; at < size && clients.at[0].open; at += piece) {
    struct keeper_request request;
    size_t length = size - at < piece ? size - at : piece;
    if (write(ends[1], &data[at], length) != (ssize_t)length) break;
    if (client_read(&clients, &clients.at[0], &request)) answer(&clients.at[0], &request);
    check(clients.at[0].length <= sizeof clients.at[0].request);
  }
  clients_tell(&clients, WAITS_FOR_END, "killed");
  clients_tell(&clients, WAITS_FOR_REMOVAL, "killed");
  check_answer(ends[1]);
  if (clients.at[0].open) close(ends[0]);
  check(clients.waiter_count == 0 && clients.count == (clients.at[0].open ? 1u : 0u));
  check(memcmp(&clients.at[1], &untouched, sizeof untouched) == 0);
  close(ends[1]);
  return 0;
}
