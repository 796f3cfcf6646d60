/* Who uses the sandbox, for its keeper (activity.h). A PING is no use, nor is a stream that waits for what programs inside begin. */
#ifndef BELLJAR_USE_H
#define BELLJAR_USE_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* The loop has events. */
void use_begin(struct loop *loop);
/* The guest has acted on them, and waits for more. */
void use_settle(struct loop *loop);
bool is_use(uint8_t operation);
/* A request that is a use has come, or a program inside was connected to the host. */
void use_count(struct loop *loop);

#endif
