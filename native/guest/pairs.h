/* The two ends of each of a program's streams: the guest keeps one, the program gets the other. */
#ifndef BELLJAR_PAIRS_H
#define BELLJAR_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

/* -1 where there is none. */
struct pair {
  int ours;
  int theirs;
};

/* `reads`: the guest reads what the program writes. False with errno set. */
bool open_pipe(struct pair *pair, bool reads);
/* All streams of an EXEC, or as many as could be opened: false with errno set. */
bool open_pairs(struct pair *pairs, const struct request *request, size_t count);
void close_theirs(const struct pair *pairs, size_t count);
void close_ours(const struct pair *pairs, size_t count);
/* The size of a terminal. False with errno set. */
bool set_size(int fd, uint16_t rows, uint16_t cols);

#endif
