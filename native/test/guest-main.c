/* The guest without a jail, for tests. Listens on a unix socket. Usage: guest-main SOCKET SERVICES_FOLDER [SECRET] */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  /* The guest ends with the test run, even if that is killed. */
  if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0) return 1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(argv[1]) >= sizeof address.sun_path) return 2;
  memcpy(address.sun_path, argv[1], strlen(argv[1]));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
    fprintf(stderr, "guest-main: %s: %s\n", argv[1], strerror(errno));
    return 1;
  }
  if (write(1, "ready\n", 6) != 6) return 1;
  struct guest_options options = {.listen_fd = fd, .secret = argc > 3 ? argv[3] : NULL, .single_id = true, .services_folder = argv[2]};
  return guest_main(&options);
}
