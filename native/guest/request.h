/* A head's fields, collected and checked against what its operation needs. */
#ifndef BELLJAR_REQUEST_H
#define BELLJAR_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"

struct text_list {
  char **items;
  size_t count;
  size_t capacity;
};

/* IPv4, in the host's byte order. */
struct address {
  uint32_t ip;
  uint16_t port;
};

#define ADDRESS_BYTES 6u
#define ADDRESSES_MAX 64u

struct request {
  uint8_t operation;
  uint64_t present;
  /* NULL: absent. The texts lie in the buffer that was parsed. */
  const char *secret;
  const char *cwd;
  const char *user;
  const char *service;
  const char *path;
  const char *target;
  const char *name;
  const char *value;
  size_t value_length;
  /* 0: absent. */
  uint64_t offset;
  uint64_t limit;
  uint64_t mtime_ns;
  uint32_t timeout_ms;
  uint32_t flags;
  uint32_t mode;
  uint32_t depth;
  uint32_t pid;
  uint32_t signal;
  uint16_t rows;
  uint16_t cols;
  uint16_t port;
  uint8_t channels;
  /* A list that is not empty ends with a NULL item. */
  struct text_list args;
  struct text_list env;
  /* The number of addresses that came. The first ADDRESSES_MAX are kept. An address that is not IPv4 is kept with port 0. */
  size_t address_count;
  struct address addresses[ADDRESSES_MAX];
};

/* Returns NULL, or a constant sentence that says what is wrong. Free the request in both cases. Parsing changes `bytes`, and the request points into them. */
const char *parse_request(struct request *request, uint8_t operation, uint8_t *bytes, size_t length);
void free_request(struct request *request);
bool has_field(const struct request *request, uint8_t tag);
bool has_flag(const struct request *request, uint32_t flag);

#endif
