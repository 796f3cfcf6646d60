/* The input is what a program of the sandbox has in its memory where a call says that a path begins. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "renames.h"
#include "whole-folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const char *path) {
  char parent[PATH_MAX], name[NAME_MAX + 1], below[PATH_MAX];
  if (!split_path(path, parent, name)) return;
  size_t length = strlen(parent);
  if (name[0] == 0 || strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) abort();
  if (length > 0 && parent[length - 1] != '/') abort();
  if (strncmp(path, parent, length) != 0 || strncmp(path + length, name, strlen(name)) != 0) abort();
  /* What follows the name is slashes alone. */
  if (path[length + strlen(name) + strspn(path + length + strlen(name), "/")] != 0) abort();
  strcat(parent, name);
  if (write_proc_path(below, 1, path[0] == '/' ? -1 : 7, parent) && strncmp(below, path[0] == '/' ? "1/root/" : "1/fd/7/", 7) != 0) abort();
  if (write_proc_path(below, 1, AT_FDCWD, parent) && strncmp(below, path[0] == '/' ? "1/root/" : "1/cwd/", 6) != 0) abort();
}

/* The memory ends where the input ends, as another process's may. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char text[PATH_MAX];
  uint8_t *memory = malloc(size == 0 ? 1 : size);
  if (memory == NULL) abort();
  memcpy(memory, data, size);
  const uint8_t *end = memchr(memory, 0, size < PATH_MAX ? size : PATH_MAX);
  if (end != NULL) {
    memcpy(text, memory, (size_t)(end - memory) + 1);
    check_names(text);
  }
  free(memory);
  return 0;
}
