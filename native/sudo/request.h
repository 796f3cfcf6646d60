/* The request of sudo to the guest. */
#ifndef BELLJAR_SUDO_CLIENT_REQUEST_H
#define BELLJAR_SUDO_CLIENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "wish.h"

/* The program's arguments, with a shell around them where one is asked for. NULL when they are too long. The caller owns nothing of it. */
char **build_arguments(const struct wish *wish);
/* The caller's environment for the command: without what says who the caller is. NULL when memory is short. */
char **build_variables(const struct wish *wish, char **environment);
/* Sends the request with the descriptors. False with errno set: E2BIG when it is too long. */
bool send_request(int socket, const struct wish *wish, const int *descriptors, size_t count);

#endif
