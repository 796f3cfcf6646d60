/* Turns what the kernel says into the codes of the protocol. */
#ifndef BELLJAR_FAILURE_H
#define BELLJAR_FAILURE_H

#include <stdint.h>

uint16_t code_of_errno(int error);

#endif
