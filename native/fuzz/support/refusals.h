/* Shared by the fuzzers of the jail's readers. A refusal, which ends the real process, ends the run of one input here. */
#ifndef BELLJAR_REFUSALS_H
#define BELLJAR_REFUSALS_H

#include <setjmp.h>

#include "jail.h"

/* Call setjmp on it before the reader. */
extern jmp_buf refused;

void check(int holds);
/* Aborts unless all holds that the jail and `clear` rely on after parse_spec. */
void check_spec(const struct spec *spec);

#endif
