/* The input is the record that `clear` reads. The reader must refuse it, or it is a valid record of the sandbox that is cleared. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/refusals.h"

static int open_input(void);
static void *kept;

/* Includes the reader; its file lies in memory. The reader never frees its buffer, so it is freed here after each input. */
#define openat(folder, ...) ((void)(folder), open_input())
#define malloc(size) (kept = malloc(size))
#include "../jail/record.c"
#undef openat
#undef malloc

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "aaaaaaaaaaaaaaaaaaaa"

static const uint8_t *input;
static size_t input_bytes;
static int input_fd;

static int open_input(void) {
  input_fd = memfd_create("record", MFD_CLOEXEC);
  if (input_fd < 0 || write(input_fd, input, input_bytes) != (ssize_t)input_bytes || lseek(input_fd, 0, SEEK_SET) != 0) abort();
  return input_fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct spec asked = {.id = ID, .run = 1, .sockets = "/"};
  struct spec *recorded = malloc(sizeof *recorded);
  check(recorded != NULL);
  input = data;
  input_bytes = size;
  kept = NULL;
  if (setjmp(refused) != 0) {
    /* A refusal ends the real process, which closes its descriptors. */
    close(input_fd);
  } else if (read_record(&asked, recorded)) {
    check_spec(recorded);
    check(strcmp(recorded->id, ID) == 0);
    (void)is_this_boot(recorded);
  } else {
    check(size == 0);
  }
  free(kept);
  free(recorded);
  return 0;
}
