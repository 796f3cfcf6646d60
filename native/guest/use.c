#include "use.h"

#include "activity.h"
#include "connection.h"
#include "service.h"

bool is_use(uint8_t operation) { return operation != OPERATION_PING && operation != OPERATION_LISTEN && operation != OPERATION_ACCEPT; }

/* A stream whose head has not come yet has a caller too. */
static bool has_caller(const struct connection *connection) {
  if (connection->phase == PHASE_DETACHED) return false;
  return connection->phase == PHASE_HEAD || is_use(connection->asked) || is_handed_over(connection);
}

static bool has_callers(const struct loop *loop) {
  const struct connection *at = loop->connections;
  while (at != NULL && !has_caller(at)) at = at->next;
  return at != NULL;
}

void use_begin(struct loop *loop) {
  if (loop->options->activity != NULL) atomic_store(&loop->options->activity->is_busy, true);
}

void use_settle(struct loop *loop) {
  if (loop->options->activity != NULL) atomic_store(&loop->options->activity->is_busy, has_callers(loop));
}

void use_count(struct loop *loop) {
  if (loop->options->activity != NULL) atomic_fetch_add(&loop->options->activity->requests, 1);
}
