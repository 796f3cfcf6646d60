/* The guest of a machine that somebody else made: no jail, no keeper. */
#ifndef BELLJAR_UNJAILED_H
#define BELLJAR_UNJAILED_H

struct unjailed_options {
  /* Where the guest listens. Its folder is the caller's alone. */
  const char *socket;
  /* The folder of the sockets of ACCEPT services. */
  const char *services_folder;
  /* Where commands start and relative paths begin. */
  const char *start_folder;
  /* The account that runs everything: the caller's own. */
  const char *user;
};

/*
 * Serves until standard input ends, as it does when the process that holds the other end is gone, however it went. Then nothing that was started
 * here is left: this process is the reaper of all of them. Prints a line when it listens. Returns the process's exit code.
 */
int unjailed_main(const struct unjailed_options *options);

#endif
