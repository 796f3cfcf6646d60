#include "started.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool make_room_for_keeper(struct started *started) {
  if (started->count < started->room) return true;
  size_t room = started->room == 0 ? 16 : started->room * 2;
  struct keeper_process *grown = realloc(started->keepers, room * sizeof *grown);
  if (grown == NULL) return false;
  started->keepers = grown;
  started->room = room;
  return true;
}

struct keeper_process *add_keeper(struct started *started, pid_t pid, const struct run_name *name) {
  struct keeper_process *added = &started->keepers[started->count++];
  *added = (struct keeper_process){.pid = pid, .request = {.name = *name}, .spec = -1};
  return added;
}

bool take_keeper(struct started *started, pid_t pid, struct keeper_process *taken) {
  for (size_t i = 0; i < started->count; i++) {
    if (started->keepers[i].pid != pid) continue;
    *taken = started->keepers[i];
    started->keepers[i] = started->keepers[--started->count];
    return true;
  }
  return false;
}

struct request copy_request(const struct request *request) {
  struct request copy = *request;
  copy.bytes = malloc(request->length);
  if (copy.bytes != NULL) memcpy(copy.bytes, request->bytes, request->length);
  return copy;
}

void keep_request(struct keeper_process *keeper, const struct request *request, int spec) {
  keeper->request = *request;
  keeper->spec = spec;
}

void forget_request(struct keeper_process *keeper) {
  if (keeper->request.bytes == NULL) return;
  free(keeper->request.bytes);
  keeper->request.bytes = NULL;
  close(keeper->spec);
}

/* A keeper closes its end of the pipe when its sandbox is made. */
void forget_requests(struct started *started) {
  for (size_t i = 0; i < started->count; i++) {
    struct keeper_process *keeper = &started->keepers[i];
    struct pollfd pipe = {.fd = keeper->spec, .events = 0};
    if (keeper->request.bytes != NULL && poll(&pipe, 1, 0) > 0) forget_request(keeper);
  }
}

/* It says so, or it was killed before it had read its whole specification. */
bool has_made_nothing(const struct keeper_process *keeper, int status) {
  int unread = 0;
  if (keeper->request.bytes == NULL) return false;
  return (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_GAVE_UP) || (ioctl(keeper->spec, FIONREAD, &unread) == 0 && unread > 0);
}
