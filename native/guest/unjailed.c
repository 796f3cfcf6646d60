#include "unjailed.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "guest.h"

#define BACKLOG 4096

static int fail(const char *what) {
  fprintf(stderr, "guest: %s: %s\n", what, strerror(errno));
  return 1;
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, strlen(path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  mode_t before = umask(0077);
  bool listens = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0;
  umask(before);
  return listens ? fd : -1;
}

static int serve(const struct unjailed_options *given, int listener, pid_t watcher) {
  /* Who kills the watcher ends the guest with it. */
  if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0 || getppid() != watcher) return 1;
  struct guest_options options = {.listen_fd = listener,
                                  .single_id = true,
                                  .user = given->user,
                                  .start_folder = given->start_folder,
                                  .services_folder = given->services_folder};
  return guest_main(&options);
}

/* Whatever forks while it is killed is found in the next round. */
static void end_all(void) {
  for (;;) {
    signal_descendants(SIGKILL);
    pid_t pid = waitpid(-1, NULL, 0);
    if (pid < 0 && errno != EINTR) return;
    /* A round looks at every process: one for each dead one would take minutes after a fork bomb. */
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
}

/* True: the caller is gone. False: the guest has ended, with its exit code. */
static bool watch(int signals, pid_t guest, int *code) {
  struct pollfd events[] = {{.fd = 0, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
  for (;;) {
    if (poll(events, 2, -1) < 0 && errno != EINTR) return true;
    char input[64];
    if (events[0].revents != 0 && read(0, input, sizeof input) <= 0) return true;
    struct signalfd_siginfo info;
    if (events[1].revents == 0 || read(signals, &info, sizeof info) <= 0) continue;
    int status;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      if (pid != guest) continue;
      *code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      return false;
    }
  }
}

int unjailed_main(const struct unjailed_options *options) {
  int listener = listen_at(options->socket);
  if (listener < 0) return fail(options->socket);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) != 0) return fail("become the child subreaper");
  sigset_t children;
  sigset_t before;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &children, &before) != 0) return fail("watch for children");
  int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return fail("watch for children");
  pid_t watcher = getpid();
  pid_t guest = fork();
  if (guest < 0) return fail("fork");
  if (guest == 0) {
    close(signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return serve(options, listener, watcher);
  }
  close(listener);
  /* The caller may be gone already. */
  if (write(1, "ready\n", 6) != 6) errno = 0;
  int code = 0;
  bool is_gone = watch(signals, guest, &code);
  end_all();
  return is_gone ? 0 : code;
}
