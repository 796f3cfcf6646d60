/* The sandbox's first process, from the clone to the guest. All that it needs from outside comes over the channel. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answers.h"
#include "guest.h"
#include "jail.h"
#include "prepare.h"
#include "raise.h"
#include "rights.h"

#define INOTIFY_INSTANCES "32"
#define SOCKET_OPTION_BYTES "20480"
/* 198.18.0.1/15 */
#define NAMES_ADDRESS 0xc6120001u
#define NAMES_MASK 0xfffe0000u
#define NAMESPACES (CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* The descriptors that come first: the layers, the devices, the sources. Sources that only this process may open take the same places. */
struct received {
  int fds[CHANNEL_FDS_MAX];
  struct root_sources root;
};

/* Each gets the place of its number. */
static void spread_sources(const struct spec *spec, int *sources) {
  unsigned given = count_outer_sources(spec);
  for (unsigned i = spec->source_count; i-- > 0;) sources[i] = spec->sources[i].ids == IDS_HELD ? -1 : sources[--given];
}

static void receive_sources(const struct spec *spec, int channel, struct received *received) {
  bool is_root = spec->id_map == ID_MAP_SLOT, has_layers = is_root || spec->storage == STORAGE_TMPFS;
  int expected = is_root ? (int)count_outer_sources(spec) + 2 : has_layers ? 1 : 0;
  if (receive_word(channel, WORD_SOURCES, received->fds, CHANNEL_FDS_MAX) != expected) _exit(1); /* the keeper has ended and has told the reason */
  if (is_root) spread_sources(spec, received->fds + 2);
  received->root = (struct root_sources){.sources = received->fds + 2, .layers = has_layers ? received->fds[0] : -1, .devices = is_root ? received->fds[1] : -1};
}

/* Joins the groups, and returns the guest's socket. */
static int receive_doors(int channel) {
  int fds[1 + CGROUPS_MAX];
  int count = receive_word(channel, WORD_DOORS, fds, 1 + CGROUPS_MAX);
  if (count < 1) _exit(1);
  join_cgroups(fds + 1, (unsigned)count - 1);
  return fds[0];
}

/* If the keeper is not root, only this process may copy mounts: it has that right in its own namespace. */
static void open_own_sources(const struct spec *spec, struct received *received) {
  struct source layers = {.path = spec->layers, .writable = true};
  for (unsigned i = 0; i < spec->source_count; i++) received->fds[2 + i] = spec->sources[i].ids == IDS_HELD ? -1 : open_source(spec, &spec->sources[i], -1, true);
  if (spec->storage != STORAGE_TMPFS) received->root.layers = open_source(spec, &layers, -1, true);
}

static void become_inner_root(void) {
  if (setgroups(0, NULL) < 0) die("drop the groups");
  if (setresgid(0, 0, GUEST_SAVED_GROUP) < 0) die("become the sandbox's group");
  if (setresuid(0, 0, 0) < 0) die("become the sandbox's root");
}

static void set_address(int fd, struct ifreq *request, unsigned long what, uint32_t address, const char *step) {
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
  memcpy(&request->ifr_addr, &in, sizeof in);
  if (ioctl(fd, what, request) < 0) die(step);
}

/*
 * Brings up the loopback and gives it a range that no network routes (RFC 2544). The sandbox's DNS answers with addresses of this range.
 * The range is not 127.0.0.0/8, so programs that look for a network (AI_ADDRCONFIG) find one.
 */
static void bring_up_loopback(void) {
  struct ifreq request = {.ifr_name = "lo"};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("open a socket for the loopback");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(fd, SIOCSIFFLAGS, &request) < 0) die("bring up the loopback");
  memcpy(request.ifr_name, "lo:0", sizeof "lo:0");
  set_address(fd, &request, SIOCSIFADDR, NAMES_ADDRESS, "give the loopback the addresses of names");
  set_address(fd, &request, SIOCSIFNETMASK, NAMES_MASK, "set the range of the addresses of names");
  close(fd);
}

/* Any user inside may listen on port 80, and the guest, which has no right, on port 53. The setting is of this network namespace alone. */
static void free_low_ports(void) {
  int fd = open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) < 0) die("let every user listen on low ports");
  close(fd);
}

/*
 * The kernel counts a socket's queues, but not the memory of its options. So each socket gets little of it, as before Linux 6.7. Since
 * Linux 6.8 the setting is of this network namespace alone; before, a sandbox does not have the file.
 */
static void limit_socket_options(void) {
  int fd = open("/proc/sys/net/core/optmem_max", O_WRONLY | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == EACCES)) return;
  if (fd < 0 || write(fd, SOCKET_OPTION_BYTES, strlen(SOCKET_OPTION_BYTES)) < 0) die("limit the memory of socket options");
  close(fd);
}

static void limit(int resource, rlim_t value, const char *step) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) < 0) die(step);
  /* The host's own limit may be lower. To raise it needs a right that this process does not have. */
  if (value > now.rlim_max) value = now.rlim_max;
  struct rlimit wanted = {.rlim_cur = value, .rlim_max = value};
  if (setrlimit((__rlimit_resource_t)resource, &wanted) < 0) die(step);
}

static void set_limits(const struct spec *spec) {
  /* The limit is 1 byte and not 0. If core_pattern is a pipe, any limit but 1 starts the host's handler as root. */
  limit(RLIMIT_CORE, 1, "forbid core files");
  /* The host may allow its user real-time scheduling and higher priorities. The sandbox gets neither. */
  limit(RLIMIT_RTPRIO, 0, "forbid real-time scheduling");
  limit(RLIMIT_NICE, 0, "forbid higher priorities");
  if (spec->files != 0) limit(RLIMIT_NOFILE, spec->files, "limit the open files");
  /* For each user. programs.c limits all together. The guest's reserve comes on top; the guest lowers the limit for commands. */
  if (spec->pids != 0) limit(RLIMIT_NPROC, spec->pids + GUEST_RESERVED_PROCESSES, "limit the processes");
}

static void open_stdio(void) {
  int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0) die("open /dev/null");
  for (int i = 0; i < 3; i++)
    if (dup2(fd, i) < 0) die("set the standard streams");
  if (fd > 2) close(fd);
}

static void close_range_of(unsigned first, unsigned last) {
  if (first <= last && syscall(SYS_close_range, first, last, 0u) < 0) die("close what is left open");
}

void close_all_but(const int *kept, size_t count) {
  for (unsigned first = 3, next; first != 0; first = next + 1) {
    next = ~0u;
    for (size_t i = 0; i < count; i++)
      if (kept[i] >= (int)first && (unsigned)kept[i] < next) next = (unsigned)kept[i];
    close_range_of(first, next == ~0u ? next : next - 1);
  }
}

static void drop_privileges(const struct spec *spec) {
  if (spec->id_map == ID_MAP_SINGLE) keep_no_capability();
  else keep_capabilities();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("set no_new_privs");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) die("make the guest untraceable");
}

unsigned open_overlays(const struct spec *spec, int *fds) {
  unsigned count = 0;
  for (unsigned i = 0; i < spec->step_count && count < OVERLAYS_MAX; i++) {
    int fd = spec->steps[i].kind == SETUP_OVERLAY ? open(spec->steps[i].target, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) fds[count++] = fd;
  }
  return count;
}

/* A change of ids clears the death signal, so it is set after the last one. If the keeper died before, the word does not come. */
static void follow_keeper(const struct spec *spec, int channel, int stage) {
  int fds[RAISE_FDS + OVERLAYS_MAX];
  unsigned count = open_for_raise(stage, fds);
  count += open_overlays(spec, fds + count);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) die("tie the sandbox to its keeper");
  if (!send_word(channel, WORD_READY, fds, count) || receive_word(channel, WORD_GO, NULL, 0) != 0) _exit(1);
  close(channel);
}

/* The sandbox must not see the keeper's path and arguments. */
static void hide_command_line(char **argv) {
  for (; *argv != NULL; argv++) memset(*argv, 0, strlen(*argv));
  prctl(PR_SET_NAME, "belljar-guest", 0, 0, 0);
}

static bool shares_folder(const struct spec *spec) {
  for (unsigned i = 0; i < spec->source_count; i++)
    if (spec->sources[i].writable) return true;
  return false;
}

/*
 * All sandboxes of an ordinary user share the user's inotify instances (128, for example). Each sandbox gets a part. Sandboxes with a
 * slot have ids of their own and share nothing. The setting is of this user namespace alone.
 */
static void limit_watches(const struct spec *spec) {
  if (spec->id_map == ID_MAP_SLOT) return;
  int fd = open("/proc/sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, INOTIFY_INSTANCES, strlen(INOTIFY_INSTANCES)) < 0) die("limit the inotify instances");
  close(fd);
}

/*
 * What needs no specification. Only root's keeper opens the folders of the host itself, so only there this process can leave the host's
 * mounts already: it must find the mounts that the host has when the sandbox is made, and must not keep any until then.
 */
static void prepare_inside(const struct spec *spec, int channel) {
  bool is_root = spec->id_map == ID_MAP_SLOT;
  if (unshare(NAMESPACES | (is_root ? CLONE_NEWNS : 0)) < 0) die("make the network, IPC and UTS namespaces");
  /* A session is also a scheduling group (autogroup), and each process in it can set the group's weight. */
  if (setsid() < 0) die("start a session of the sandbox's own");
  bring_up_loopback();
  free_low_ports();
  limit_socket_options();
  if (receive_word(channel, WORD_MAPPED, NULL, 0) != 0) _exit(1); /* the keeper has ended and has told the reason */
  limit_watches(spec);
  if (!is_root) return;
  become_inner_root();
  make_stage();
  enter_stage();
}

static void set_host_name(const struct spec *spec) {
  if (spec->hostname == NULL) refuse("the specification has no host name");
  if (sethostname(spec->hostname, strlen(spec->hostname)) < 0) die("set the host name");
}

/* Returns what build_root does. */
static int build(const struct spec *spec, int channel, struct copied_folders *copied) {
  struct received received;
  bool is_root = spec->id_map == ID_MAP_SLOT, is_held = spec->storage == STORAGE_TMPFS;
  if (is_root || !is_held) receive_sources(spec, channel, &received); /* layers on a disk are there from then on */
  if (!is_root) {
    if (unshare(CLONE_NEWNS) < 0) die("make the mount namespace");
    open_own_sources(spec, &received);
    make_stage();
    if (is_held) receive_sources(spec, channel, &received); /* the holder makes them meanwhile */
  }
  keep_lower_folder(spec, received.root.sources, copied);
  return build_root(spec, received.root);
}

void run_inside(struct spec *spec, int channel, struct activity *activity, char **argv) {
  struct copied_folders copied;
  hide_command_line(argv);
  prepare_inside(spec, channel);
  receive_spec(channel, spec);
  set_failure_report(STATUS_FD, spec, NULL);
  set_host_name(spec);
  int stage = build(spec, channel, &copied);
  list_host_name(spec);
  find_copied_folders(spec, &copied);
  int guest = receive_doors(channel);
  if (unshare(CLONE_NEWCGROUP) < 0) die("make the cgroup namespace");
  open_stdio();
  set_limits(spec);
  if (spec->id_map == ID_MAP_SUBIDS) become_inner_root();
  struct programs programs = make_programs(spec);
  drop_privileges(spec);
  follow_keeper(spec, channel, stage);
  await_first(&programs);
  set_failure_report(-1, NULL, NULL);
  const int kept[] = {guest, copied.lower, programs.user_namespace};
  close_all_but(kept, sizeof kept / sizeof kept[0]);
  bool single_id = spec->id_map == ID_MAP_SINGLE, shared = shares_folder(spec);
  struct seccomp_options filter = {.shares_folder = shared, .copies_folder = copied.count > 0, .single_id = single_id, .nested_filters = spec->nested_filters};
  confine_guest(filter, &copied);
  struct guest_options options = {
      .listen_fd = guest,
      .is_init = true,
      .single_id = single_id,
      .programs = programs.user_namespace,
      .no_root = spec->no_root,
      .user = spec->user,
      .start_folder = spec->start_folder,
      .drops_setid = shared,
      .activity = activity,
  };
  _exit(guest_main(&options));
}
