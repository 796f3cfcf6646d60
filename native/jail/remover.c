/*
 * The remover: a child of the holder, in the same mount namespace. It unmounts the layers that the holder has dropped, one after the other.
 * The kernel frees a million files in about a second; meanwhile the holder serves others. It ends with the holder.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "held.h"
#include "hold.h"

/* The holder's end of the channel. */
static int channel = -1;

static _Noreturn void remove_dropped(int own_end) {
  char id[ID_LENGTH + 1];
  ssize_t length;
  /* It must not keep the holder's socket open: nobody would answer there after the holder's end. */
  if (dup2(own_end, STDIN_FILENO) < 0 || close_range(STDIN_FILENO + 1, ~0u, 0) < 0 || chdir("/") < 0) _exit(EXIT_FAILURE);
  confine_holder();
  while ((length = read(STDIN_FILENO, id, sizeof id)) > 0 || (length < 0 && errno == EINTR))
    if (length == (ssize_t)sizeof id) unmount_held(id);
  _exit(EXIT_SUCCESS);
}

void start_remover(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) die("make the channel to the remover of layers");
  signal(SIGCHLD, SIG_IGN); /* it is not waited for */
  prctl(PR_SET_NAME, "belljar-remover", 0, 0, 0);
  pid_t pid = fork();
  if (pid < 0) die("start the remover of layers");
  if (pid == 0) remove_dropped(pair[1]);
  prctl(PR_SET_NAME, "belljar-holder", 0, 0, 0);
  close(pair[1]);
  channel = pair[0];
  if (fcntl(channel, F_SETFL, O_NONBLOCK) < 0) die("set the channel to the remover of layers");
}

bool ask_remover(const char id[ID_LENGTH + 1]) { return send_hold(channel, id, ID_LENGTH + 1, NULL, 0); }
