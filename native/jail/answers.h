/*
 * Some calls of a sandbox's programs are told to a listener of the filter. A thread of the guest serves it: nothing inside can end a thread
 * of the first process, so no program waits for an answer that does not come. It has rights that the guest itself gives up.
 */
#ifndef BELLJAR_ANSWERS_H
#define BELLJAR_ANSWERS_H

#include "jail.h"

/* Installs the filter, for this thread and all programs to come. */
void confine_guest(struct seccomp_options options, const struct copied_folders *copied);

#endif
