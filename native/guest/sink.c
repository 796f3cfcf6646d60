#include "sink.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SINKS_MAX 256u

struct sink {
  struct event event;
  struct sink *next;
  struct sink *previous;
};

static void sink_close(struct loop *loop, struct sink *sink) {
  loop_close(loop, &sink->event);
  if (sink->previous != NULL) sink->previous->next = sink->next;
  else loop->sinks = sink->next;
  if (sink->next != NULL) sink->next->previous = sink->previous;
  loop->sink_count--;
  free(sink);
}

static void on_ready(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  uint8_t *scratch = loop_scratch(loop);
  ssize_t count = scratch == NULL ? 0 : read(event->fd, scratch, SCRATCH_BYTES);
  if (count <= 0 && !(count < 0 && (errno == EAGAIN || errno == EINTR))) sink_close(loop, event->owner);
}

void sink_open(struct loop *loop, int fd) {
  struct sink *sink = loop->sink_count < SINKS_MAX ? calloc(1, sizeof *sink) : NULL;
  if (sink == NULL) {
    close(fd);
    return;
  }
  sink->event = (struct event){.fd = fd, .ready = on_ready, .owner = sink};
  sink->next = loop->sinks;
  if (loop->sinks != NULL) loop->sinks->previous = sink;
  loop->sinks = sink;
  loop->sink_count++;
  if (!loop_set(loop, &sink->event, EPOLLIN)) sink_close(loop, sink);
}

void sinks_close(struct loop *loop) {
  while (loop->sinks != NULL) sink_close(loop, loop->sinks);
}
