/* The sandbox's first process: from a bare clone to the guest. Everything it needs from outside comes over the channel. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"
#include "jail.h"
#include "rights.h"

#define INOTIFY_INSTANCES "32"
#define SOCKET_OPTION_BYTES "20480"
/* 198.18.0.1/15 */
#define NAMES_ADDRESS 0xc6120001u
#define NAMES_MASK 0xfffe0000u
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* What came over the channel, in this order: the guest's socket, the sources, the writable layers, the devices, the control groups to join. */
struct received {
  int fds[CHANNEL_FDS_MAX];
  struct root_sources root;
  int guest;
};

static void receive_sources(const struct spec *spec, int channel, struct received *received) {
  int count = receive_word(channel, WORD_SOURCES, received->fds, CHANNEL_FDS_MAX);
  if (count < 1) _exit(1); /* the keeper ended and has said why */
  unsigned at = 1;
  received->guest = received->fds[0];
  received->root = (struct root_sources){.sources = received->fds + at, .layers = -1, .devices = -1};
  if (spec->id_map == ID_MAP_SLOT) {
    at += spec->source_count;
    if (spec->storage != STORAGE_TMPFS) received->root.layers = received->fds[at++];
    received->root.devices = received->fds[at++];
  }
  join_cgroups(received->fds + at, (unsigned)count - at);
}

/* Where the keeper is not root, only this process has the right to copy mounts: in its own namespace. */
static void open_own_sources(const struct spec *spec, struct received *received) {
  struct source layers = {.path = spec->layers, .writable = true};
  for (unsigned i = 0; i < spec->source_count; i++) received->fds[1 + i] = open_source(spec, &spec->sources[i], -1, true);
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
 * The loopback, and on it a range that no network routes (RFC 2544): what stands for the names that programs look up. Since it is
 * not loopback's own, programs that ask whether there is any network (AI_ADDRCONFIG) find one.
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

/* An ordinary user's server may listen on port 80, and a guest without any right on 53. The file belongs to the opener's network. */
static void free_low_ports(void) {
  int fd = open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) < 0) die("let every user listen on low ports");
  close(fd);
}

/*
 * What a socket holds beside its queues is counted by nobody: each gets little, as it was before Linux 6.7. Since Linux 6.8 the
 * file belongs to the opener's network; before, a sandbox has none.
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
  /* A host that allows less than was asked for keeps its word; raising needs a right that we do not have. */
  if (value > now.rlim_max) value = now.rlim_max;
  struct rlimit wanted = {.rlim_cur = value, .rlim_max = value};
  if (setrlimit((__rlimit_resource_t)resource, &wanted) < 0) die(step);
}

static void set_limits(const struct spec *spec) {
  /* One byte, not none: a core_pattern that is a pipe starts the host's handler as root at any other limit. */
  limit(RLIMIT_CORE, 1, "forbid core files");
  /* What the host lets its user do to the machine's processors is not meant for the sandbox. */
  limit(RLIMIT_RTPRIO, 0, "forbid real-time scheduling");
  limit(RLIMIT_NICE, 0, "forbid higher priorities");
  if (spec->files != 0) limit(RLIMIT_NOFILE, spec->files, "limit the open files");
  /* Counted by user namespace and id: the guest's own room comes on top, the commands' is set by the guest. */
  if (spec->pids != 0) limit(RLIMIT_NPROC, spec->pids + GUEST_RESERVED_PROCESSES, "limit the processes");
}

static void open_stdio(void) {
  int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0) die("open /dev/null");
  for (int i = 0; i < 3; i++)
    if (dup2(fd, i) < 0) die("set the standard streams");
  if (fd > 2) close(fd);
}

static void close_all_but(int kept) {
  if (kept > 3 && syscall(SYS_close_range, 3u, (unsigned)kept - 1, 0u) < 0) die("close what is left open");
  if (syscall(SYS_close_range, (unsigned)kept + 1, ~0u, 0u) < 0) die("close what is left open");
}

static void drop_privileges(const struct spec *spec) {
  if (spec->id_map == ID_MAP_SUBIDS) become_inner_root();
  if (spec->id_map == ID_MAP_SINGLE) keep_no_capability();
  else keep_capabilities();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("set no_new_privs");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) die("make the guest untraceable");
}

/* Set after the last change of ids, which would clear it; the word closes the race with a keeper that died before. */
static void follow_keeper(int channel) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) die("tie the sandbox to its keeper");
  if (!send_word(channel, WORD_READY, NULL, 0) || receive_word(channel, WORD_GO, NULL, 0) != 0) _exit(1);
  close(channel);
}

/* The keeper's own path and arguments are the host's affair. */
static void hide_command_line(char **argv) {
  for (; *argv != NULL; argv++) memset(*argv, 0, strlen(*argv));
  prctl(PR_SET_NAME, "belljar-guest", 0, 0, 0);
}

static bool shares_folder(const struct spec *spec) {
  for (unsigned i = 0; i < spec->source_count; i++)
    if (spec->sources[i].ids == IDS_WORKSPACE && spec->sources[i].writable) return true;
  return false;
}

/*
 * An ordinary user's sandboxes share what the kernel allows that user: 128 inotify instances, say. Each gets a part at most.
 * A slot's ids are a user of their own. The file belongs to the user namespace of whoever opens it.
 */
static void limit_watches(const struct spec *spec) {
  if (spec->id_map == ID_MAP_SLOT) return;
  int fd = open("/proc/sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, INOTIFY_INSTANCES, strlen(INOTIFY_INSTANCES)) < 0) die("limit the inotify instances");
  close(fd);
}

void run_inside(const struct spec *spec, int channel, char **argv) {
  struct received received;
  hide_command_line(argv);
  if (unshare(NAMESPACES) < 0) die("make the mount, network, IPC and UTS namespaces");
  receive_sources(spec, channel, &received);
  if (spec->id_map == ID_MAP_SLOT) become_inner_root();
  else open_own_sources(spec, &received);
  if (unshare(CLONE_NEWCGROUP) < 0) die("make the cgroup namespace");
  /* With the session comes a scheduling group (autogroup), whose weight can be set through each process in it. */
  if (setsid() < 0) die("start a session of the sandbox's own");
  if (spec->hostname == NULL) refuse("the specification has no host name");
  if (sethostname(spec->hostname, strlen(spec->hostname)) < 0) die("set the host name");
  bring_up_loopback();
  free_low_ports();
  limit_socket_options();
  limit_watches(spec);
  build_root(spec, received.root);
  open_stdio();
  set_limits(spec);
  drop_privileges(spec);
  follow_keeper(channel);
  set_failure_report(-1, NULL, NULL);
  close_all_but(received.guest);
  install_seccomp((struct seccomp_options){
      .shares_folder = shares_folder(spec), .single_id = spec->id_map == ID_MAP_SINGLE, .nested_filters = spec->nested_filters});
  struct guest_options options = {.listen_fd = received.guest, .is_init = true, .single_id = spec->id_map == ID_MAP_SINGLE};
  _exit(guest_main(&options));
}
