/* How the kernel tells the guest's processes from the sandbox's programs, although both may have the same ids. */
#ifndef BELLJAR_RIGHTS_H
#define BELLJAR_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>

/*
 * The mark is a capability that the guest and its workers hold. No program can get it: it is in no bounding set, and execve drops it.
 * A process that lacks a capability of another process cannot trace that process, cannot read its memory or descriptors, and cannot
 * change its priority, scheduling or processors. This holds even if both have the same ids and the other process is dumpable.
 * The mark itself allows nothing: the kernel checks it in the host's user namespace alone, for a call that the filter refuses.
 */
#define GUEST_MARK CAP_SYS_PACCT

/* A process can set another's limits only if its own ids equal all ids of the other. No program has a saved group that differs from its other groups. */
#define GUEST_SAVED_GROUP 65535u

/*
 * Enters the user namespace of the sandbox's programs, below this process's own, with the capabilities that it has now and no others, and
 * never can get others. False with errno set.
 */
bool enter_programs(int user_namespace);

/* Gives up every capability but the mark. A process without the mark keeps none. False with errno set. */
bool keep_mark_alone(void);

#endif
