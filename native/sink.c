#include "sink.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SINKS_MAX 256u

static void on_ready(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  uint8_t *scratch = loop_scratch(loop);
  ssize_t count = scratch == NULL ? 0 : read(event->fd, scratch, SCRATCH_BYTES);
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return;
  loop_close(loop, event);
  loop->sink_count--;
  free(event);
}

void sink_open(struct loop *loop, int fd) {
  struct event *event = loop->sink_count < SINKS_MAX ? malloc(sizeof *event) : NULL;
  if (event == NULL) {
    close(fd);
    return;
  }
  *event = (struct event){.fd = fd, .ready = on_ready};
  loop->sink_count++;
  if (loop_set(loop, event, EPOLLIN)) return;
  close(fd);
  loop->sink_count--;
  free(event);
}
