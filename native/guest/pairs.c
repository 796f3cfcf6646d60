#include "pairs.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"

#define DEFAULT_ROWS 24
#define DEFAULT_COLS 80

static bool make_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool open_pipe(struct pair *pair, bool reads) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pair->ours = reads ? ends[0] : ends[1];
  pair->theirs = reads ? ends[1] : ends[0];
  return make_nonblocking(pair->ours);
}

static bool open_socket_pair(struct pair *pair) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  pair->ours = ends[0];
  pair->theirs = ends[1];
  return make_nonblocking(pair->ours);
}

bool set_size(int fd, uint16_t rows, uint16_t cols) {
  struct winsize size = {.ws_row = rows, .ws_col = cols};
  return ioctl(fd, TIOCSWINSZ, &size) == 0;
}

static bool open_terminal(struct pair *pair, const struct request *request) {
  int unlocked = 0;
  pair->ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (pair->ours < 0 || ioctl(pair->ours, TIOCSPTLCK, &unlocked) != 0) return false;
  pair->theirs = ioctl(pair->ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pair->theirs < 0) return false;
  return set_size(pair->ours, request->rows == 0 ? DEFAULT_ROWS : request->rows, request->cols == 0 ? DEFAULT_COLS : request->cols);
}

static bool open_pair(struct pair *pair, const struct request *request, size_t number) {
  bool terminal = has_flag(request, FLAG_TERMINAL);
  if (number == 0 && terminal) return open_terminal(pair, request);
  if (number == 0 && has_flag(request, FLAG_NO_STDIN)) return true;
  if (number < 3) return terminal || open_pipe(pair, number != 0);
  return open_socket_pair(pair);
}

void close_theirs(const struct pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (pairs[i].theirs >= 0) close(pairs[i].theirs);
  }
}

void close_ours(const struct pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (pairs[i].ours >= 0) close(pairs[i].ours);
  }
}

bool open_pairs(struct pair *pairs, const struct request *request, size_t count) {
  for (size_t i = 0; i < count; i++) pairs[i] = (struct pair){-1, -1};
  for (size_t i = 0; i < count; i++) {
    if (!open_pair(&pairs[i], request, i)) return false;
  }
  return true;
}
