/* Calls of programs that a thread of the guest's process answers (jail/answers.c), and the guest, which must know that no answer is under way. */
#ifndef BELLJAR_ANSWERING_H
#define BELLJAR_ANSWERING_H

#include <stdbool.h>

/* For the thread. Waits while the guest holds the answers. */
void begin_answer(void);
void finish_answer(void);

/* For the guest. No further answer begins until let_answers_go. True: none is under way. Call it again until it is true. */
bool hold_answers(void);
void let_answers_go(void);

#endif
