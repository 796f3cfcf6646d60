/* The door of sudo: a unix socket of the sandbox's own network, where the guest listens (docs/guest-protocol.md). */
#ifndef BELLJAR_SUDO_DOOR_H
#define BELLJAR_SUDO_DOOR_H

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The name is abstract: no file, so nobody inside can remove it or put another socket in its place. */
#define SUDO_DOOR "sudo"
/* The standard streams, and the terminal of the command if it gets one of its own. */
#define SUDO_STREAMS 3u
#define SUDO_DESCRIPTORS_MAX (SUDO_STREAMS + 1u)
/* An EXIT frame of this door: u32 exit code, u32 signal or 0. */
#define SUDO_EXIT_BYTES 8u

static inline socklen_t sudo_address(struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(&address->sun_path[1], SUDO_DOOR, sizeof SUDO_DOOR - 1);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof SUDO_DOOR);
}

/* The program inside. */
int sudo_main(int argc, char **argv);

#endif
