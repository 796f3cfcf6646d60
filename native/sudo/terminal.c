#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "io.h"

bool is_in_background(void) {
  pid_t group = tcgetpgrp(STDIN_FILENO);
  return group >= 0 && group != getpgrp();
}

bool is_interactive(void) { return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

void copy_size(const struct terminal *terminal) {
  struct winsize size;
  if (terminal->master >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) (void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

bool open_terminal(struct terminal *terminal) {
  int unlocked = 0;
  terminal->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal->master < 0 || ioctl(terminal->master, TIOCSPTLCK, &unlocked) != 0) return false;
  terminal->slave = ioctl(terminal->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal->slave < 0 || tcgetattr(STDIN_FILENO, &terminal->before) != 0) return false;
  copy_size(terminal);
  return tcsetattr(terminal->slave, TCSANOW, &terminal->before) == 0;
}

bool make_raw(struct terminal *terminal) {
  struct termios raw = terminal->before;
  cfmakeraw(&raw);
  terminal->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  return terminal->is_raw;
}

void restore(struct terminal *terminal) {
  if (terminal->is_raw) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
  terminal->is_raw = false;
}

bool give_input(struct terminal *terminal) {
  ssize_t count = write(terminal->master, terminal->pending, terminal->pending_length);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  terminal->pending_length -= (size_t)count;
  memmove(terminal->pending, &terminal->pending[count], terminal->pending_length);
  return true;
}

bool take_input(struct terminal *terminal) {
  ssize_t count = read(STDIN_FILENO, terminal->pending, sizeof terminal->pending);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  terminal->pending_length = (size_t)count;
  return count > 0 && give_input(terminal);
}

bool show_output(struct terminal *terminal) {
  char bytes[4096];
  ssize_t count = read(terminal->master, bytes, sizeof bytes);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  return count > 0 && write_whole(STDOUT_FILENO, bytes, (size_t)count);
}
