#include "sudo.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"
#include "loop.h"
#include "sudo-door.h"

#define BACKLOG 64
#define ACCEPTS_PER_EVENT 16

/* The client is a program inside: what it does not take at once is lost. */
static void refuse(int fd, const char *text) {
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  size_t length = write_error_frame(frame, sizeof frame, GUEST_ERROR_TOO_MANY, 0, text);
  (void)send(fd, frame, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static pid_t *find_place(struct loop *loop, pid_t pid) {
  for (size_t i = 0; i < SUDO_CLIENTS_MAX; i++) {
    if (loop->sudo_clients[i] == pid) return &loop->sudo_clients[i];
  }
  return NULL;
}

/* Clients never take the processes that are reserved for the guest. -1 with errno set. */
static pid_t fork_within_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) return -1;
  struct rlimit lower = limit;
  if (lower.rlim_max != RLIM_INFINITY && lower.rlim_max > GUEST_RESERVED_PROCESSES) lower.rlim_cur = lower.rlim_max - GUEST_RESERVED_PROCESSES;
  if (setrlimit(RLIMIT_NPROC, &lower) != 0) return -1;
  pid_t pid = fork();
  int error = errno;
  if (pid != 0) (void)setrlimit(RLIMIT_NPROC, &limit); /* back to what it was, which is always allowed */
  errno = error;
  return pid;
}

static void admit(struct loop *loop, int fd) {
  pid_t *place = find_place(loop, 0);
  if (place == NULL) {
    refuse(fd, "as many commands of sudo run as the sandbox can have: end some and try again");
    return;
  }
  pid_t pid = fork_within_limit();
  if (pid == 0) sudo_serve(loop, fd);
  if (pid < 0) refuse(fd, "the sandbox has no room for another process");
  else *place = pid;
}

static void on_client(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
    int fd = accept4(event->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
      /* Without a free descriptor the loop would spin. The door rests until a client has gone. */
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) loop_set(loop, event, 0);
      return;
    }
    admit(loop, fd);
    close(fd);
  }
}

bool sudo_open(struct loop *loop) {
  loop->sudo = (struct event){.fd = -1, .ready = on_client};
  if (loop->options->no_root || !loop->options->is_init) return true;
  struct sockaddr_un address;
  socklen_t length = sudo_address(&address);
  loop->sudo.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (loop->sudo.fd < 0 || bind(loop->sudo.fd, (struct sockaddr *)&address, length) != 0 || listen(loop->sudo.fd, BACKLOG) != 0) return false;
  return loop_set(loop, &loop->sudo, EPOLLIN);
}

void sudo_close(struct loop *loop) { loop_close(loop, &loop->sudo); }

void sudo_wake(struct loop *loop) { loop_set(loop, &loop->sudo, loop->still == NULL ? EPOLLIN : 0); }

bool sudo_reaped(struct loop *loop, pid_t pid) {
  pid_t *place = find_place(loop, pid);
  if (place == NULL) return false;
  *place = 0;
  sudo_wake(loop);
  return true;
}
