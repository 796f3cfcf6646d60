/* What the fuzzers of the jail's readers share: a refusal, which would end the process, ends the run of one input. */
#ifndef BELLJAR_REFUSALS_H
#define BELLJAR_REFUSALS_H

#include <setjmp.h>

#include "jail.h"

/* Set it with setjmp before the reader is called. */
extern jmp_buf refused;

void check(int holds);
/* All that the jail and `clear` take for granted of a specification that was not refused. */
void check_spec(const struct spec *spec);

#endif
