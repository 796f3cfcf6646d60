/* The guest's epoll loop and its state. Nothing in it may block: bytes for a slow reader wait in a buffer of its stream. */
#ifndef BELLJAR_LOOP_H
#define BELLJAR_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frames.h"
#include "guest.h"

/* The most bytes that one stream may have on their way. One read takes them all. */
#define SCRATCH_BYTES (HOST_CREDIT_BYTES + PAYLOAD_MAX_BYTES)

#define SUDO_CLIENTS_MAX 64u

struct loop;
struct connection;
struct listening;
struct name_socket;
struct question;
struct service;
struct sink;

/* A watched descriptor. `fd` is -1 once it is closed; later events of the same batch are then dropped. */
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
  /* The door of sudo, and the processes that serve its clients. 0: a free place. */
  struct event sudo;
  pid_t sudo_clients[SUDO_CLIENTS_MAX];
  struct connection *connections;
  size_t connection_count;
  /* Closed connections. Later events of the same batch may still name them, so they are freed after it. */
  struct connection *closed;
  struct service *services;
  struct service *closed_services;
  /* LISTEN streams in the order of arrival. `line_changed`: an address may have become free. */
  struct listening *line;
  bool line_changed;
  size_t network_streams;
  size_t network_fds;
  /* The UDP sockets beside TCP listeners, and the questions that came to them and have no answer yet. */
  struct name_socket *name_sockets;
  struct question *questions;
  size_t question_count;
  /* ATTACH streams that came so far. `kept_changed`: one that waits may have its turn. */
  uint64_t attaches;
  bool kept_changed;
  /* The STILL that stops everybody, or has stopped everybody. `still_changed`: one has begun or is over. */
  struct connection *still;
  bool still_changed;
  /* Heads that a STILL has kept waiting so far. */
  uint64_t heads_held;
  struct sink *sinks;
  size_t sink_count;
  /* SCRATCH_BYTES, allocated on first use. Its content is not kept between events. */
  uint8_t *scratch;
  int64_t started_us;
  /* The oom_score_adj of every command. */
  char child_oom_score[12];
  /* When a SHUTDOWN ends at the latest. 0: no SHUTDOWN was asked for. `shutdown` is its stream, NULL once that is closed. */
  int64_t stop_deadline_us;
  struct connection *shutdown;
  bool killed_all;
};

int64_t now_us(void);
/* Sets the events to wait for. 0 takes the descriptor out of the loop. */
bool loop_set(struct loop *loop, struct event *event, uint32_t interest);
/* Takes the descriptor out of the loop and closes it. */
void loop_close(struct loop *loop, struct event *event);
/* NULL when memory is short. */
uint8_t *loop_scratch(struct loop *loop);
/* Waits until `deadline_us` (0: for ever) and calls `ready` of each event. False when epoll failed. */
bool loop_wait(struct loop *loop, int64_t deadline_us);

#endif
