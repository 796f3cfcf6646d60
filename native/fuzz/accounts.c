/* The input is the sandbox's /etc/passwd and /etc/group, which its root may have written. The first byte chooses the name that is looked up. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_input(void);

/* Includes the reader; its files lie in memory. */
#define open(path, flags) ((void)(path), (void)(flags), open_input())
#include "../guest/users.c"
#undef open

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t input_bytes;

static int open_input(void) {
  int fd = memfd_create("accounts", MFD_CLOEXEC);
  if (fd < 0 || write(fd, input, input_bytes) != (ssize_t)input_bytes || lseek(fd, 0, SEEK_SET) != 0) abort();
  return fd;
}

static void check(int holds) {
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {"a:b", "root", "user", "a", "0", "1000:7", "4294967295", ""};
  if (size == 0) return 0;
  input = &data[1];
  input_bytes = size - 1;
  struct user user;
  if (find_user(NAMES[data[0] % 8], &user) == NULL) {
    check(user.uid <= USER_ID_MAX && user.gid <= USER_ID_MAX);
    check(strnlen(user.name, sizeof user.name) < sizeof user.name && user.name[0] != 0);
    check(strnlen(user.home, sizeof user.home) < sizeof user.home && user.home[0] != 0);
    check(strnlen(user.shell, sizeof user.shell) < sizeof user.shell && user.shell[0] != 0);
    check(user.group_count >= 1 && user.group_count <= USER_GROUPS_MAX);
  }
  struct name_cache cache = {.next_user = 0};
  for (uint32_t id = 0; id < 6; id++) {
    check(strlen(name_of_user(&cache, id)) < USER_NAME_BYTES);
    check(strlen(name_of_group(&cache, id)) < USER_NAME_BYTES);
  }
  return 0;
}
