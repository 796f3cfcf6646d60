/* What the command line of sudo asks for. */
#ifndef BELLJAR_SUDO_WISH_H
#define BELLJAR_SUDO_WISH_H

#include <stdbool.h>
#include <stddef.h>

struct wish {
  const char *user;
  bool keeps_home;
  bool is_login;
  bool is_shell;
  /* Only says whether sudo can be used. */
  bool only_asks;
  bool lists;
  bool shows_help;
  bool shows_version;
  /* NAME=value arguments. */
  char **variables;
  size_t variable_count;
  /* Ends with NULL. May be empty with a shell. */
  char **command;
  size_t command_count;
};

/* Returns NULL, or a sentence about the first argument that it does not take. `argv` ends with NULL and is only pointed into. */
const char *read_wish(struct wish *wish, int argc, char **argv);
extern const char SUDO_HELP[];

#endif
