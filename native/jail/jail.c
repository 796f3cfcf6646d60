/* Builds one sandbox: reads the specification, makes what only the outside may make, starts the first process inside, and becomes its keeper. */
#include <errno.h>
#include <fcntl.h>
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
#include <unistd.h>

#include "io.h"
#include "jail.h"
#include "prepare.h"
#include "raise.h"

#define BACKLOG 4096

struct jail {
  struct spec spec;
  struct kept kept;
  struct prepared prepared;
  char **argv;
  int guest_fd;
  bool is_noted;
  pid_t workspace_holder; /* of the namespace of an idmapped mount; killed at once, waited for when the sandbox runs */
};

/* One in each process. A failure anywhere cleans up what it has made. */
static struct jail jail;

static void end_inside(void) {
  if (jail.prepared.pidfd < 0) return;
  syscall(SYS_pidfd_send_signal, jail.prepared.pidfd, SIGKILL, NULL, 0u);
  waitpid(jail.prepared.pid, NULL, 0);
}

static void clean_up_failure(void) {
  end_inside();
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
  hold_pool(&jail.spec);
  make_layers(&jail.spec);
}

static void open_doors(void) {
  jail.guest_fd = listen_at(jail.spec.sockets, GUEST_SOCKET);
  jail.kept.control = listen_at(jail.spec.sockets, KEEPER_SOCKET);
  jail.kept.timer = open_deadline(&jail.spec);
}

static bool has_workspace(void) {
  for (unsigned i = 0; i < jail.spec.source_count; i++)
    if (jail.spec.sources[i].ids == IDS_WORKSPACE) return true;
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
      [IDS_HOST] = open_user_namespace_of(jail.prepared.pid),
      [IDS_LAYER] = jail.prepared.layer_namespace,
      [IDS_WORKSPACE] = has_workspace() ? open_workspace_namespace(spec, jail.prepared.first_id, &jail.workspace_holder) : -1,
      [IDS_NONE] = -1,
  };
  fds[count++] = open_layers(namespaces[IDS_LAYER]);
  fds[count++] = jail.prepared.devices;
  for (unsigned i = 0; i < spec->source_count; i++)
    if (spec->sources[i].ids != IDS_HELD) fds[count++] = open_source(spec, &spec->sources[i], namespaces[spec->sources[i].ids], false);
  for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++)
    if (namespaces[i] >= 0) close(namespaces[i]);
  return count;
}

static void give(enum word word, const int *fds, unsigned count) {
  if (!send_word(jail.prepared.channel, word, fds, count)) die("hand descriptors to the sandbox");
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
  jail.kept.guest = fcntl(jail.guest_fd, F_DUPFD_CLOEXEC, 0);
  if (jail.kept.guest < 0) die("keep the sandbox's socket");
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

/*
 * The kernel frees what it holds of an overlay's files in the process that lets go of it last, which takes up to a second for 100,000 files.
 * So the keeper has the overlays open.
 */
static void wait_until_ready(void) {
  int fds[RAISE_FDS + OVERLAYS_MAX];
  int count = receive_word(jail.prepared.channel, WORD_READY, fds, RAISE_FDS + OVERLAYS_MAX);
  bool is_ready = count >= 0;
  if (is_ready) take_inner_descriptors(&jail.kept, fds, (unsigned)count);
  if (is_ready) limit_layers(&jail.spec);
  if (!is_ready || !send_word(jail.prepared.channel, WORD_GO, NULL, 0)) {
    clean_up_failure(); /* the first process inside has told the reason */
    _exit(EXIT_FAILURE);
  }
  close(jail.prepared.channel);
  set_failure_report(-1, NULL, NULL);
  if (!tell_started()) { /* the host process that asked for it has gone */
    clean_up_failure();
    _exit(EXIT_FAILURE);
  }
  close(STATUS_FD);
  if (jail.workspace_holder > 0) waitpid(jail.workspace_holder, NULL, 0);
}

static void ignore_signals(void) {
  static const int IGNORED[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTSTP};
  for (size_t i = 0; i < sizeof IGNORED / sizeof IGNORED[0]; i++) signal(IGNORED[i], SIG_IGN);
}

static _Noreturn void give_up(void) { _exit(EXIT_GAVE_UP); }

/*
 * A spare keeper makes ahead what is the same for all sandboxes. Until it has a specification, nobody hears why it fails: then
 * it gives up, and a keeper that is no spare says why the next sandbox cannot be made.
 */
static void be_spare(void) {
  set_failure_report(-1, NULL, give_up);
  parse_pattern(read_spec(STDIN_FILENO), &jail.spec);
  jail.spec.slot_hint = (uint32_t)getpid();
  bool is_held = jail.spec.id_map != ID_MAP_SLOT && jail.spec.storage == STORAGE_TMPFS;
  if (!is_held || ask_for_namespace(&jail.spec, &jail.kept.hold)) prepare(&jail.spec, &jail.kept.hold, jail.argv, -1, &jail.prepared);
}

static struct spec_bytes read_and_parse(void) {
  await_spec(&jail.prepared, &jail.kept.hold);
  set_failure_report(STATUS_FD, NULL, end_inside);
  struct spec_bytes raw = read_spec(STDIN_FILENO);
  struct spec_bytes record = {.bytes = malloc(raw.length + 1), .length = raw.length};
  if (record.bytes == NULL) die("keep the specification");
  memcpy(record.bytes, raw.bytes, raw.length);
  parse_spec(raw, &jail.spec);
  return record;
}

/* The first process of a version 2 group is born into it, so the group must be there before. */
static void prepare_now(struct spec_bytes record, bool is_held) {
  if (is_held && jail.spec.id_map != ID_MAP_SLOT) await_layers(&jail.spec, LEASH_FD, &jail.kept.hold);
  if (uses_cgroup_v2(&jail.spec)) make_groups(record);
  prepare(&jail.spec, &jail.kept.hold, jail.argv, STATUS_FD, &jail.prepared);
}

int jail_main(char **argv, bool is_spare) {
  jail.argv = argv;
  umask(077);
  ignore_signals();
  jail.kept = (struct kept){.spec = &jail.spec, .pidfd = -1, .guest = -1, .leash = -1, .stage = -1, .user_namespace = -1, .mount_namespace = -1, .hold = {.connection = -1, .layers = -1, .user_namespace = -1}};
  jail.prepared = (struct prepared){.pidfd = -1, .channel = -1, .layer_namespace = -1, .devices = -1};
  fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
  fcntl(LEASH_FD, F_SETFD, FD_CLOEXEC);
  if (is_spare) be_spare();
  struct spec_bytes record = read_and_parse();
  set_failure_report(STATUS_FD, &jail.spec, end_inside);
  take_folders();
  set_failure_report(STATUS_FD, &jail.spec, clean_up_failure);
  bool is_held = jail.spec.storage == STORAGE_TMPFS;
  if (is_held) ask_for_layers(&jail.spec, LEASH_FD, &jail.kept.hold);
  if (jail.prepared.pid == 0) prepare_now(record, is_held);
  give_spec(&jail.prepared, record);
  if (is_held && jail.kept.hold.layers < 0) await_layers(&jail.spec, LEASH_FD, &jail.kept.hold);
  if (!is_held) make_disk_layers(record);
  give_sources();
  /* From here on the child builds the root meanwhile. */
  reserve_end(jail.kept.folder);
  if (!uses_cgroup_v2(&jail.spec)) make_groups(record);
  open_doors();
  give_doors();
  if (jail.spec.ephemeral) jail.kept.leash = LEASH_FD;
  else close(LEASH_FD);
  free(record.bytes);
  wait_until_ready();
  jail.kept.pid = jail.prepared.pid;
  jail.kept.pidfd = jail.prepared.pidfd;
  jail.kept.activity = jail.prepared.activity;
  keep(&jail.kept);
}
