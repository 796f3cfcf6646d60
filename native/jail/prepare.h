/*
 * The part of a sandbox that is the same for all sandboxes of one user in one place: its ids, and its first process with the namespaces,
 * but for the file system of an ordinary user's. A spare keeper makes it before it has a specification.
 */
#ifndef BELLJAR_PREPARE_H
#define BELLJAR_PREPARE_H

#include "jail.h"

struct prepared {
  struct activity *activity; /* shared with the first process */
  pid_t pid; /* of the first process inside; 0: nothing is prepared */
  int pidfd;
  int channel;
  uint32_t first_id;
  /* Only as root: for idmapped mounts of layers, and the nodes of /dev. */
  int layer_namespace, devices;
};

/*
 * `spec` is the specification, or the pattern of one (pattern.h). An ordinary user's `hold` has the holder's user namespace if the layers
 * are in memory. `report` is where the first process tells its failures, or -1.
 */
void prepare(struct spec *spec, struct hold *hold, char **argv, int report, struct prepared *prepared);
/* Gives the first process the specification, which it waits for. */
void give_spec(const struct prepared *prepared, struct spec_bytes bytes);
/* The other side of it. Ends this process if the keeper has ended. */
void receive_spec(int channel, struct spec *spec);
/* A spare keeper waits here with what it has prepared. It ends with the process that started it. */
void await_spec(const struct prepared *prepared, const struct hold *hold);

/*
 * hosts.c: programs look up their own host name (git, Java, Python). A later run has the line of the first, unless somebody inside changed it,
 * and a line of another sandbox that Belljar wrote is left out. An image may have anything there, which then stays as it is: no link is
 * followed, and no pipe is waited for.
 */
void list_host_name(const struct spec *spec);

#endif
