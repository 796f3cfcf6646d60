#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "renames.h"

/* The smallest page that there is: memory may end at the end of each. */
#define PAGE_BYTES 4096u

bool read_text(pid_t pid, uint64_t address, char text[PATH_MAX]) {
  size_t first = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
  struct iovec local = {.iov_base = text, .iov_len = PATH_MAX};
  struct iovec remote[] = {{.iov_base = (void *)address, .iov_len = first}, {.iov_base = (void *)(address + first), .iov_len = PATH_MAX - first}};
  ssize_t length = process_vm_readv(pid, &local, 1, remote, first < PATH_MAX ? 2 : 1, 0);
  return length > 0 && memchr(text, 0, (size_t)length) != NULL;
}

bool write_proc_path(char to[PATH_MAX], pid_t pid, int folder, const char *path) {
  int length;
  if (path[0] == '/') length = snprintf(to, PATH_MAX, "%d/root%s", (int)pid, path);
  else if (folder == AT_FDCWD) length = snprintf(to, PATH_MAX, "%d/cwd/%s", (int)pid, path);
  else length = snprintf(to, PATH_MAX, "%d/fd/%d/%s", (int)pid, folder, path);
  return length > 0 && length < PATH_MAX;
}
