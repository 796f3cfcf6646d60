/* The terminal of a command that sudo runs: one of its own, so that it has job control, and its bytes go to and from the caller's. */
#ifndef BELLJAR_SUDO_TERMINAL_H
#define BELLJAR_SUDO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct terminal {
  /* -1: the command has no terminal of its own. */
  int master;
  int slave;
  bool is_raw;
  struct termios before;
  /* Bytes that the command has not taken yet. */
  char pending[4096];
  size_t pending_length;
};

/* The caller sits at a terminal, in the foreground, with both input and output there. */
bool is_interactive(void);
/* In the background: a command must not take the input of what runs in the foreground. */
bool is_in_background(void);
/* False with errno set. */
bool open_terminal(struct terminal *terminal);
bool make_raw(struct terminal *terminal);
void restore(struct terminal *terminal);
void copy_size(const struct terminal *terminal);
/* Reads the caller's keys. False: the caller's terminal has gone. */
bool take_input(struct terminal *terminal);
bool give_input(struct terminal *terminal);
/* Shows what the command printed. False: there is no more. */
bool show_output(struct terminal *terminal);

#endif
