/* A fuzzer for machines without libFuzzer: mutates well-formed inputs from a seed, for so many rounds. Usage: fuzz ROUNDS [SEED] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frames.h"

#define INPUT_BYTES 4096u
#define MUTATIONS_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
  uint8_t bytes[INPUT_BYTES];
  size_t length;
};

static uint32_t next_random(uint64_t *state, uint32_t below) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (uint32_t)((*state >> 11) % below);
}

static void put_random_field(struct field_writer *writer, uint64_t *random) {
  static const char TEXT[] = "abc/../def=\n\xff\x00gh";
  /* Tag 0 and those above the table are unknown; put_bytes writes them all the same. */
  uint8_t tag = (uint8_t)next_random(random, 56);
  if (next_random(random, 2) == 0) put_number(writer, tag, next_random(random, UINT32_MAX));
  else put_bytes(writer, tag, TEXT, next_random(random, sizeof TEXT));
}

static void make_input(struct input *input, uint64_t *random) {
  input->bytes[0] = (uint8_t)next_random(random, 4);
  input->bytes[1] = (uint8_t)next_random(random, 25);
  struct field_writer writer;
  uint32_t start = input->bytes[0] == 3 ? 2 : 1;
  field_writer_init(&writer, &input->bytes[start], INPUT_BYTES - start);
  for (uint32_t i = next_random(random, 12); i > 0; i--) put_random_field(&writer, random);
  input->length = start + writer.length;
  if (input->bytes[0] == 0) {
    write_head(&input->bytes[1], (struct head){(uint8_t)next_random(random, 100), next_random(random, FIELDS_MAX_BYTES * 2)});
    input->length = 1 + HEAD_BYTES;
  } else if (input->bytes[0] == 1) {
    write_frame_header(&input->bytes[1], (struct frame_header){(uint8_t)next_random(random, 14), 0, next_random(random, PAYLOAD_MAX_BYTES * 2)});
    input->length = 1 + FRAME_HEADER_BYTES;
  }
}

static void mutate(struct input *input, uint64_t *random) {
  for (uint32_t i = next_random(random, MUTATIONS_MAX); i > 0 && input->length > 1; i--) {
    uint32_t at = next_random(random, (uint32_t)input->length);
    switch (next_random(random, 3)) {
      case 0: input->bytes[at] = (uint8_t)next_random(random, 256); break;
      case 1: input->bytes[at] ^= (uint8_t)(1u << next_random(random, 8)); break;
      default: input->length = at; break;
    }
  }
}

int main(int argc, char **argv) {
  unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
  uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 10) | 1u : 88172645463325252u;
  for (unsigned long i = 0; i < rounds; i++) {
    struct input input;
    make_input(&input, &random);
    mutate(&input, &random);
    LLVMFuzzerTestOneInput(input.bytes, input.length);
  }
  printf("%lu inputs decoded\n", rounds);
  return 0;
}
