/* The role `compare`: one process for each question. It reads the request from standard input, and answers on standard output. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "io.h"
#include "layers.h"

static struct compare_request request;
static int written[SIDE_COUNT] = {-1, -1};

static void read_request(void) {
  uint8_t start[HEAD_BYTES];
  struct head head;
  if (!read_whole(STDIN_FILENO, start, sizeof start)) refuse("no request on standard input");
  if (parse_head(start, &head) != HEAD_OK || head.operation != OPERATION_COMPARE) refuse("not a request of this version");
  struct spec_bytes raw = {.bytes = malloc(head.length + 1), .length = head.length};
  if (raw.bytes == NULL) die("keep the request");
  if (!read_whole(STDIN_FILENO, raw.bytes, raw.length)) refuse("the request is cut short");
  parse_compare_request(raw, &request);
}

/* The flag says that the state is the present one: what the sandbox wrote lies on top. Frozen layers may lie beside it. */
static void open_written_layers(void) {
  for (unsigned side = 0; side < SIDE_COUNT; side++) {
    const struct spec *spec = &request.specs[side];
    if (spec->has_layers || count_outer_sources(spec) < spec->source_count) written[side] = open_written(spec);
  }
}

/* Layers and their folders are open at once. */
static void allow_open_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) die("read the limit of open files");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) die("raise the limit of open files");
}

static unsigned overlay_of(const struct spec *spec, const char *path, const char **rest) {
  unsigned found = STEPS_MAX;
  size_t longest = 0;
  for (unsigned i = 0; i < spec->step_count; i++) {
    const char *target = spec->steps[i].target;
    size_t length = strcmp(target, "/") == 0 ? 0 : strlen(target);
    bool is_below = strncmp(path, target, length) == 0 && path[length] == '/';
    if (!is_below || (found != STEPS_MAX && length < longest)) continue;
    found = i;
    longest = length;
  }
  *rest = path + longest + 1;
  return found;
}

static void answer(void) {
  static struct stack stack;
  const struct spec *spec = &request.specs[SIDE_BEFORE];
  const char *rest = NULL;
  unsigned asked = request.path == NULL ? STEPS_MAX : overlay_of(spec, request.path, &rest);
  if (request.path != NULL && (asked == STEPS_MAX || spec->steps[asked].kind != SETUP_OVERLAY)) {
    answer_missing("the path lies in no layer of this state");
    return;
  }
  for (unsigned i = 0; i < spec->step_count; i++) {
    if (spec->steps[i].kind != SETUP_OVERLAY || (request.path != NULL && i != asked)) continue;
    open_stack(&stack, &request, i, written);
    if (request.path != NULL) {
      read_state(&stack, rest, request.limit);
      return;
    }
    compare_stacks(&stack, spec);
    close_stack(&stack);
  }
  answer_end();
}

/* From here on it can read the layers, and do nothing else that needs a right. */
static void work(void) {
  allow_open_files();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("give up the way to new rights");
  keep_capabilities_alone(1ull << CAP_DAC_READ_SEARCH);
  answer();
}

/* Files of layers may belong to ids that only a namespace with the sandbox's map has rights over, and folders may be closed to their owner. */
static _Noreturn void work_in_namespace(int parent, pid_t starter) {
  char byte = 0;
  if (unshare(CLONE_NEWUSER) < 0) die("make a user namespace");
  if (!write_whole(parent, &byte, 1) || !read_whole(parent, &byte, 1)) _exit(EXIT_FAILURE);
  if (request.specs[SIDE_BEFORE].id_map == ID_MAP_SUBIDS && setresuid(0, 0, 0) < 0) die("take the ids of the sandbox");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != starter) _exit(EXIT_FAILURE);
  work();
  _exit(EXIT_SUCCESS);
}

static int work_as_owner(void) {
  int pair[2], status;
  char byte = 0;
  pid_t starter = getpid();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) die("make a pair of sockets");
  pid_t child = fork();
  if (child < 0) die("start the work");
  if (child == 0) {
    close(pair[0]); /* otherwise the child would wait for ever for a parent that was killed */
    work_in_namespace(pair[1], starter);
  }
  close(pair[1]);
  if (read_whole(pair[0], &byte, 1)) {
    write_id_maps(&request.specs[SIDE_BEFORE], child, 0);
    write_whole(pair[0], &byte, 1);
  }
  close(pair[0]);
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) die("wait for the work");
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int compare_main(void) {
  read_request();
  open_written_layers();
  if (request.specs[SIDE_BEFORE].id_map != ID_MAP_SLOT) return work_as_owner();
  work();
  return EXIT_SUCCESS;
}
