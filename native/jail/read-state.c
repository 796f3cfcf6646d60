/* Reads one regular file of a state. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"

#define NO_FILE "there is no such file in this state: compare the states to see what they have"

/* Takes the first name of a path. False: there is none that a file system has. */
static bool take_name(const char **rest, char name[NAME_MAX + 1]) {
  size_t length = strcspn(*rest, "/");
  if (length == 0 || length > NAME_MAX) return false;
  memcpy(name, *rest, length);
  name[length] = 0;
  *rest += length;
  if (**rest == '/') ++*rest;
  return true;
}

/* Makes the folder that was looked up the current one. */
static void enter(struct stack *stack, unsigned level, const char *name) {
  size_t before = stack->levels[level].path_length, start = before > 0 ? before + 1 : 0, length = strlen(name);
  if (start + length >= sizeof stack->path) refuse("a path is too long");
  if (before > 0) stack->path[before] = '/';
  memcpy(stack->path + start, name, length + 1);
  stack->levels[level + 1].path_length = start + length;
}

static bool find(struct stack *stack, const char *rest, unsigned *level, char name[NAME_MAX + 1], struct found *found) {
  for (*level = 0; take_name(&rest, name); ++*level) {
    look_up(stack, *level, SIDE_BEFORE, name, found);
    if (*rest == 0) return found->is_there && S_ISREG(found->status.st_mode);
    if (!found->is_there || !S_ISDIR(found->status.st_mode) || *level + 1 >= LIST_LEVELS_MAX) return false;
    enter(stack, *level, name);
    close_folders_above(stack, *level + 1);
  }
  return false;
}

static void send_content(int fd, uint64_t limit) {
  static uint8_t bytes[PAYLOAD_MAX_BYTES];
  while (limit > 0) {
    ssize_t count = read(fd, bytes, limit < sizeof bytes ? (size_t)limit : sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) die("read a file of a layer");
    if (count == 0) break;
    answer_data(bytes, (size_t)count);
    limit -= (uint64_t)count;
  }
}

void read_state(struct stack *stack, const char *rest, uint64_t limit) {
  char name[NAME_MAX + 1];
  struct found found;
  unsigned level;
  bool is_found = find(stack, rest, &level, name, &found);
  int fd = is_found ? open_found(stack, level, SIDE_BEFORE, name, &found) : -1;
  if (fd < 0) {
    answer_missing(NO_FILE);
    return;
  }
  answer_entry(&found);
  send_content(fd, limit);
  answer_end();
  close(fd);
}
