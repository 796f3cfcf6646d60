#include "answering.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool is_held, is_answering;

void begin_answer(void) {
  pthread_mutex_lock(&lock);
  while (is_held) pthread_cond_wait(&released, &lock);
  is_answering = true;
  pthread_mutex_unlock(&lock);
}

void finish_answer(void) {
  pthread_mutex_lock(&lock);
  is_answering = false;
  pthread_mutex_unlock(&lock);
}

bool hold_answers(void) {
  pthread_mutex_lock(&lock);
  is_held = true;
  bool is_free = !is_answering;
  pthread_mutex_unlock(&lock);
  return is_free;
}

void let_answers_go(void) {
  pthread_mutex_lock(&lock);
  is_held = false;
  pthread_cond_signal(&released);
  pthread_mutex_unlock(&lock);
}
