/* The keepers that a spawner has started, and the specifications that it may have to give to another keeper. */
#ifndef BELLJAR_STARTED_H
#define BELLJAR_STARTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail.h"

/* A sandbox's next run may start while the keeper of the one before still exits. */
struct run_name {
  char id[ID_LENGTH + 1];
  uint32_t run;
};

struct request {
  struct run_name name;
  uint8_t *bytes; /* NULL: they are not kept */
  size_t length;
};

struct keeper_process {
  pid_t pid;
  struct request request; /* with its bytes as long as the keeper is a spare that has not made the sandbox yet */
  int spec;               /* its pipe, as long as the bytes are kept */
};

struct started {
  struct keeper_process *keepers;
  size_t count, room;
};

/* False: there is no memory. */
bool make_room_for_keeper(struct started *started);
/* There must be room for it. */
struct keeper_process *add_keeper(struct started *started, pid_t pid, const struct run_name *name);
/* Removes a keeper that has ended. False: it is not here. */
bool take_keeper(struct started *started, pid_t pid, struct keeper_process *taken);

/* Without bytes: there is no memory. */
struct request copy_request(const struct request *request);
/* From here on the keeper owns the bytes and the pipe. */
void keep_request(struct keeper_process *keeper, const struct request *request, int spec);
void forget_request(struct keeper_process *keeper);
/* Forgets the requests of all sandboxes that are made. */
void forget_requests(struct started *started);
/* The keeper was a spare. It has ended before it made anything that has to be cleared: another keeper can take its request. */
bool has_made_nothing(const struct keeper_process *keeper, int status);

#endif
