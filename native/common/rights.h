/* What sets the guest's processes apart from the sandbox's programs, for the kernel: which has the same ids for both. */
#ifndef BELLJAR_RIGHTS_H
#define BELLJAR_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>

/*
 * A capability that the guest and its workers may hold and no program can get: it is in no bounding set, and execve takes it away.
 * Whoever lacks a capability of another process may neither trace it, read its memory or descriptors, nor change its priority,
 * scheduling or processors, even with its ids and while it is dumpable. It gives nothing by itself: the kernel asks for it in the
 * host's user namespace alone, and for a call that the filter refuses.
 */
#define GUEST_MARK CAP_SYS_PACCT

/* The limits of a process are set by those whose ids are all of its ids: a saved group that differs from the others is nobody's. */
#define GUEST_SAVED_GROUP 65535u

/* Gives up every capability but the mark, where that is there. False with errno set. */
bool keep_mark_alone(void);

#endif
