#include "prepare.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "activity.h"
#include "io.h"

/*
 * The sandbox of an ordinary user becomes a child of the holder's user namespace. The ids are mapped there once for all sandboxes, so this
 * process maps the child's by itself, which newuidmap needs milliseconds for.
 */
static void join_holder(struct hold *hold) {
  if (setns(hold->user_namespace, CLONE_NEWUSER) < 0) die("join the user namespace of the holder");
  close(hold->user_namespace);
  hold->user_namespace = -1;
  hold->is_joined = true;
}

/* A mapping that both processes have from the clone on: nothing has to be handed over, and no program inside gets it. */
static struct activity *share_activity(void) {
  void *page = mmap(NULL, sizeof(struct activity), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) die("share a page with the sandbox");
  return page;
}

static void start_inside(struct spec *spec, char **argv, int report, struct prepared *prepared) {
  int pair[2];
  prepared->activity = share_activity();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) die("make the channel to the sandbox");
  prepared->pid = clone_inside(spec, prepared->first_id, &prepared->pidfd);
  if (prepared->pid == 0) {
    set_failure_report(report, spec, NULL);
    close(pair[0]);
    run_inside(spec, pair[1], prepared->activity, argv);
  }
  close(pair[1]);
  prepared->channel = pair[0];
}

static void map_ids(const struct spec *spec, const struct hold *hold, const struct prepared *prepared) {
  if (!hold->is_joined) {
    write_id_maps(spec, prepared->pid, prepared->first_id);
    return;
  }
  copy_id_maps(spec, prepared->pid);
  drop_capabilities(); /* over the holder, and over the sandboxes beside this one */
}

static void open_for_mounts(struct prepared *prepared) {
  pid_t holder;
  prepared->layer_namespace = open_layer_namespace(prepared->first_id, &holder);
  prepared->devices = open_devices(prepared->first_id);
  while (waitpid(holder, NULL, 0) < 0 && errno == EINTR) continue;
}

void prepare(struct spec *spec, struct hold *hold, char **argv, int report, struct prepared *prepared) {
  bool is_root = spec->id_map == ID_MAP_SLOT;
  int slot_lock; /* stays open as long as this process lives */
  if (is_root && setgroups(0, NULL) < 0) die("drop the groups");
  if (is_root) prepared->first_id = claim_slot(spec, &slot_lock);
  if (!is_root && hold->user_namespace >= 0) join_holder(hold);
  start_inside(spec, argv, report, prepared);
  map_ids(spec, hold, prepared);
  if (!send_word(prepared->channel, WORD_MAPPED, NULL, 0)) die("tell the sandbox that its ids are mapped");
  if (is_root) open_for_mounts(prepared);
}

void give_spec(const struct prepared *prepared, struct spec_bytes bytes) {
  uint32_t length = (uint32_t)bytes.length;
  bool is_given = send_word(prepared->channel, WORD_SPEC, NULL, 0) && write_whole(prepared->channel, &length, sizeof length) &&
                  write_whole(prepared->channel, bytes.bytes, bytes.length);
  if (!is_given) die("hand the specification to the sandbox");
}

void receive_spec(int channel, struct spec *spec) {
  struct spec_bytes raw = {.bytes = NULL};
  uint32_t length;
  if (receive_word(channel, WORD_SPEC, NULL, 0) != 0 || !read_whole(channel, &length, sizeof length)) _exit(EXIT_FAILURE);
  raw.length = length;
  raw.bytes = malloc(raw.length + 1);
  if (raw.bytes == NULL) die("keep the specification");
  if (!read_whole(channel, raw.bytes, raw.length)) _exit(EXIT_FAILURE);
  parse_spec(raw, spec);
}

void await_spec(const struct prepared *prepared, const struct hold *hold) {
  struct pollfd fds[] = {
      {.fd = STDIN_FILENO, .events = POLLIN},
      {.fd = prepared->pid > 0 ? prepared->channel : -1, .events = POLLIN}, /* the first process says nothing: it has ended */
      {.fd = hold->connection, .events = POLLIN}, /* nor does the holder */
  };
  while (poll(fds, 3, -1) < 0 && errno == EINTR) continue;
  if (fds[1].revents != 0 || fds[2].revents != 0) _exit(EXIT_GAVE_UP);
  if ((fds[0].revents & POLLIN) == 0) _exit(EXIT_SUCCESS);
}
