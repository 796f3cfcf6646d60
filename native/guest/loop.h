/* One epoll loop and what it knows. Nothing in it may block: slow readers wait in their own buffers. */
#ifndef BELLJAR_LOOP_H
#define BELLJAR_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"
#include "guest.h"

/* What one stream may have on its way at most: read at once, it costs one wake-up. */
#define SCRATCH_BYTES (HOST_CREDIT_BYTES + PAYLOAD_MAX_BYTES)

struct loop;
struct connection;
struct listening;
struct service;
struct sink;

/* A watched descriptor. `fd` is -1 once it is forgotten; events of the same batch that are still to come are then dropped. */
struct event {
  int fd;
  uint32_t interest;
  void (*ready)(struct loop *loop, struct event *event, uint32_t events);
  void *owner;
};

struct loop {
  const struct guest_options *options;
  int epoll;
  struct event listener;
  struct event signals;
  struct connection *connections;
  size_t connection_count;
  /* Closed ones wait here until the batch of events that may still name them is over. */
  struct connection *closed;
  struct service *services;
  struct service *closed_services;
  /* LISTEN streams in the order in which they came; changed: somebody may hold what was not free. */
  struct listening *line;
  bool line_changed;
  size_t network_streams;
  size_t network_fds;
  struct sink *sinks;
  size_t sink_count;
  /* SCRATCH_BYTES, there while it is needed; holds nothing from one event to the next. */
  uint8_t *scratch;
  int64_t started_us;
  /* Written to the oom_score_adj of every command. */
  char child_oom_score[12];
  /* SHUTDOWN was asked for, by this stream if it is still open; 0: it was not. */
  int64_t stop_deadline_us;
  struct connection *shutdown;
  bool killed_all;
};

int64_t now_us(void);
/* Sets what the event waits for; 0 takes it out of the loop. */
bool loop_set(struct loop *loop, struct event *event, uint32_t interest);
/* Takes it out of the loop and closes its descriptor. */
void loop_close(struct loop *loop, struct event *event);
/* NULL when memory is short. */
uint8_t *loop_scratch(struct loop *loop);
/* Waits until `deadline_us` (0: for ever) and hands the events out; false when waiting itself failed. */
bool loop_wait(struct loop *loop, int64_t deadline_us);

#endif
