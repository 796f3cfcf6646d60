/* Builds one sandbox: reads the specification, makes what only the outside may make, starts the first process inside, and becomes its keeper. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <grp.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define BACKLOG 4096

struct jail {
  struct spec spec;
  struct kept kept;
  char **argv;
  int guest_fd;
  int channel;
  uint32_t first_id;
  bool is_noted;
  bool is_mapped; /* this process is in the holder's user namespace, where the ids are mapped already */
  pid_t holders[2]; /* of the namespaces of idmapped mounts; killed at once, waited for when the sandbox runs */
};

/* One in each process. A failure anywhere cleans up what it has made. */
static struct jail jail;

static void clean_up_failure(void) {
  if (jail.kept.pidfd >= 0) {
    syscall(SYS_pidfd_send_signal, jail.kept.pidfd, SIGKILL, NULL, 0u);
    waitpid(jail.kept.pid, NULL, 0);
  }
  clean_kernel_objects(&jail.spec);
  if (jail.kept.hold.connection >= 0) close(jail.kept.hold.connection); /* the holder drops what nobody has said to keep */
  else if (!jail.spec.has_layers && jail.spec.storage != STORAGE_TMPFS) remove_layers_as_owner(&jail.spec);
}

static int listen_at(const char *folder, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name) >= (int)sizeof address.sun_path)
    refuse("the folder of the sockets has too long a path; set a shorter runtimeDirectory");
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0) die("listen on the sandbox's socket");
  return fd;
}

/* From here on the locks show that the run lives, and that it uses the layers. */
static void take_folders(void) {
  jail.kept.runs = open_runs(&jail.spec);
  jail.kept.folder = open(jail.spec.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (jail.kept.folder < 0) die("open the sandbox's folder");
  if (!take_lock(jail.kept.folder)) refuse("the sandbox's folder is in use");
  if (!take_lock_soon(jail.kept.runs)) refuse("another run of the sandbox uses its files");
  if (has_ended(jail.kept.folder)) refuse("the sandbox was cleared away before it was made: whoever asked for it has gone");
}

/* The record names what `clear` must remove, so it is written before any of it is made. Layers in memory are the connection's. */
static void note(struct spec_bytes record) {
  if (jail.is_noted) return;
  jail.is_noted = true;
  if (mkdir(jail.spec.sockets, 0700) < 0) die("make the folder of the sockets");
  write_record(&jail.spec, record);
}

static void make_groups(struct spec_bytes record) {
  note(record);
  make_cgroups(&jail.spec);
}

static void make_disk_layers(struct spec_bytes record) {
  note(record);
  make_layers(&jail.spec);
}

static void open_doors(void) {
  jail.guest_fd = listen_at(jail.spec.sockets, GUEST_SOCKET);
  jail.kept.control = listen_at(jail.spec.sockets, KEEPER_SOCKET);
  jail.kept.timer = open_deadline(&jail.spec);
}

/*
 * The sandbox of an ordinary user becomes a child of the holder's user namespace. The ids are mapped there once for all sandboxes, so this
 * process maps the child's by itself, which newuidmap needs milliseconds for.
 */
static void join_holder(void) {
  await_layers(&jail.spec, LEASH_FD, &jail.kept.hold);
  int parent = jail.kept.hold.user_namespace;
  jail.is_mapped = parent >= 0;
  if (!jail.is_mapped) return;
  if (setns(parent, CLONE_NEWUSER) < 0) die("join the user namespace of the holder");
  close(parent);
}

static void map_ids(void) {
  if (!jail.is_mapped) {
    write_id_maps(&jail.spec, jail.kept.pid, jail.first_id);
    return;
  }
  copy_id_maps(&jail.spec, jail.kept.pid);
  drop_capabilities(); /* over the holder, and over the sandboxes beside this one */
}

static void start_inside(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) die("make the channel to the sandbox");
  jail.kept.pid = clone_inside(&jail.spec, jail.first_id, &jail.kept.pidfd);
  if (jail.kept.pid == 0) {
    set_failure_report(STATUS_FD, &jail.spec, NULL);
    close(pair[0]);
    run_inside(&jail.spec, pair[1], jail.argv);
  }
  close(pair[1]);
  jail.channel = pair[0];
}

static bool needs(enum ids ids) {
  if (ids == IDS_LAYER) return true;
  for (unsigned i = 0; i < jail.spec.source_count; i++)
    if (jail.spec.sources[i].ids == ids) return true;
  return false;
}

static int take_held_layers(void) {
  int layers = jail.kept.hold.layers;
  jail.kept.hold.layers = -1;
  return layers;
}

static int open_layers(int id_namespace) {
  struct source layers = {.path = jail.spec.layers, .writable = true};
  if (jail.spec.storage != STORAGE_TMPFS) return open_source(&jail.spec, &layers, id_namespace, false);
  int held = take_held_layers();
  map_layers(held, id_namespace);
  return held;
}

/* Only as root: opens each source as a detached mount whose ids are mapped into the sandbox's slot. */
static unsigned open_sources(int *fds) {
  const struct spec *spec = &jail.spec;
  unsigned count = 0;
  int namespaces[] = {
      [IDS_HOST] = open_user_namespace_of(jail.kept.pid),
      [IDS_LAYER] = needs(IDS_LAYER) ? open_layer_namespace(jail.first_id, &jail.holders[0]) : -1,
      [IDS_WORKSPACE] = needs(IDS_WORKSPACE) ? open_workspace_namespace(spec, jail.first_id, &jail.holders[1]) : -1,
      [IDS_NONE] = -1,
  };
  fds[count++] = open_layers(namespaces[IDS_LAYER]);
  fds[count++] = open_devices(jail.first_id);
  for (unsigned i = 0; i < spec->source_count; i++) fds[count++] = open_source(spec, &spec->sources[i], namespaces[spec->sources[i].ids], false);
  for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++)
    if (namespaces[i] >= 0) close(namespaces[i]);
  return count;
}

static void give(enum word word, const int *fds, unsigned count) {
  if (!send_word(jail.channel, word, fds, count)) die("hand descriptors to the sandbox");
  for (unsigned i = 0; i < count; i++) close(fds[i]);
}

/* receive_sources reads them in this order: the layers, the devices, the sources. */
static void give_sources(void) {
  int fds[CHANNEL_FDS_MAX];
  unsigned count = 0;
  if (jail.spec.id_map == ID_MAP_SLOT) count = open_sources(fds);
  else if (jail.spec.storage == STORAGE_TMPFS) fds[count++] = take_held_layers();
  give(WORD_SOURCES, fds, count);
}

/* receive_doors reads them in this order: the guest's socket, the groups. */
static void give_doors(void) {
  int fds[1 + CGROUPS_MAX];
  fds[0] = jail.guest_fd;
  give(WORD_DOORS, fds, 1 + open_cgroup_joins(&jail.spec, fds + 1));
}

static bool tell_started(void) {
  uint8_t bytes[64];
  struct field_writer fields;
  field_writer_init(&fields, bytes + FRAME_HEADER_BYTES, sizeof bytes - FRAME_HEADER_BYTES);
  put_run(&fields, &jail.spec);
  write_frame_header(bytes, (struct frame_header){.type = FRAME_STARTED, .length = (uint32_t)fields.length});
  return write_whole(STATUS_FD, bytes, FRAME_HEADER_BYTES + fields.length);
}

static void wait_until_ready(void) {
  bool is_ready = receive_word(jail.channel, WORD_READY, NULL, 0) == 0;
  if (is_ready) limit_layers(&jail.spec);
  if (!is_ready || !send_word(jail.channel, WORD_GO, NULL, 0)) {
    clean_up_failure(); /* the first process inside has told the reason */
    _exit(EXIT_FAILURE);
  }
  close(jail.channel);
  set_failure_report(-1, NULL, NULL);
  if (!tell_started()) { /* the host process that asked for it has gone */
    clean_up_failure();
    _exit(EXIT_FAILURE);
  }
  close(STATUS_FD);
  for (size_t i = 0; i < sizeof jail.holders / sizeof jail.holders[0]; i++)
    if (jail.holders[i] > 0) waitpid(jail.holders[i], NULL, 0);
}

static void ignore_signals(void) {
  static const int IGNORED[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTSTP};
  for (size_t i = 0; i < sizeof IGNORED / sizeof IGNORED[0]; i++) signal(IGNORED[i], SIG_IGN);
}

/* A spare keeper waits here. It ends with the process that started it. */
static void await_spec(void) {
  struct pollfd spec = {.fd = STDIN_FILENO, .events = POLLIN};
  while (poll(&spec, 1, -1) < 0 && errno == EINTR) continue;
  if ((spec.revents & POLLIN) == 0) _exit(EXIT_SUCCESS);
}

static struct spec_bytes read_and_parse(void) {
  await_spec();
  struct spec_bytes raw = read_spec(STDIN_FILENO);
  struct spec_bytes record = {.bytes = malloc(raw.length + 1), .length = raw.length};
  if (record.bytes == NULL) die("keep the specification");
  memcpy(record.bytes, raw.bytes, raw.length);
  parse_spec(raw, &jail.spec);
  return record;
}

int jail_main(char **argv) {
  jail.argv = argv;
  umask(077);
  ignore_signals();
  jail.kept = (struct kept){.spec = &jail.spec, .pidfd = -1, .leash = -1, .hold = {.connection = -1, .layers = -1, .user_namespace = -1}};
  set_failure_report(STATUS_FD, NULL, NULL);
  fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
  fcntl(LEASH_FD, F_SETFD, FD_CLOEXEC);
  struct spec_bytes record = read_and_parse();
  set_failure_report(STATUS_FD, &jail.spec, NULL);
  take_folders();
  set_failure_report(STATUS_FD, &jail.spec, clean_up_failure);
  int slot_lock = -1;
  bool is_root = jail.spec.id_map == ID_MAP_SLOT, is_held = jail.spec.storage == STORAGE_TMPFS;
  if (is_root) {
    if (setgroups(0, NULL) < 0) die("drop the groups");
    jail.first_id = claim_slot(&jail.spec, &slot_lock);
  }
  if (is_held) ask_for_layers(&jail.spec, LEASH_FD, &jail.kept.hold);
  if (is_held && !is_root) join_holder();
  /* The child is born into its v2 group, so the group must be there before. */
  bool born_in_group = uses_cgroup_v2(&jail.spec);
  if (born_in_group) make_groups(record);
  start_inside();
  if (is_held && is_root) await_layers(&jail.spec, LEASH_FD, &jail.kept.hold);
  map_ids();
  if (!is_held) make_disk_layers(record);
  give_sources();
  /* From here on the child builds the root meanwhile. */
  reserve_end(jail.kept.folder);
  if (!born_in_group) make_groups(record);
  open_doors();
  give_doors();
  if (jail.spec.ephemeral) jail.kept.leash = LEASH_FD;
  else close(LEASH_FD);
  free(record.bytes);
  wait_until_ready();
  keep(&jail.kept);
}
