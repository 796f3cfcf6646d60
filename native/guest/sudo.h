/* The guest's side of sudo: programs inside ask for a command as another user, root for example. */
#ifndef BELLJAR_SUDO_H
#define BELLJAR_SUDO_H

#include <stdbool.h>
#include <sys/types.h>

struct loop;

/* Opens the door, in a sandbox with root. The name is one for a network, so a guest without a jail has none. False with errno set. */
bool sudo_open(struct loop *loop);
void sudo_close(struct loop *loop);
/* There may be a free descriptor again, or a STILL has begun or is over. */
void sudo_wake(struct loop *loop);
/* True: the process was one that serves a client. */
bool sudo_reaped(struct loop *loop, pid_t pid);
/* A process of its own serves each client, so that no client delays the guest and no descriptor of a client is the guest's. */
_Noreturn void sudo_serve(const struct loop *loop, int fd);

#endif
