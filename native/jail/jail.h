/* The jail: builds a sandbox, then stays outside as its keeper. */
#ifndef BELLJAR_JAIL_H
#define BELLJAR_JAIL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frames.h"
#include "guest.h"

/* How the ids inside map to the host's. */
enum id_map {
  ID_MAP_SLOT = 1,   /* root: 65,536 ids of a slot of its own */
  ID_MAP_SINGLE = 2, /* an ordinary user: one id, 1000 inside */
  ID_MAP_SUBIDS = 3, /* an ordinary user with newuidmap: 65,536 ids, 1000 inside is the user */
};

enum storage {
  STORAGE_FOLDER = 1, /* the writable layers lie in a host folder */
  STORAGE_TMPFS = 2,  /* ... in memory, of a fixed size */
  STORAGE_BTRFS = 3,  /* ... in a btrfs subvolume of its own, with a quota */
};

/* Whose ids a source's files carry on disk. */
enum ids {
  IDS_HOST = 0,      /* the host's: root there is root inside */
  IDS_LAYER = 1,     /* the canonical range of our layers */
  IDS_WORKSPACE = 2, /* the workspace owner's: `user` inside */
  IDS_NONE = 3,      /* no map: everybody is `nobody` inside, and what others may not read stays unreadable */
};

/* The steps of a set-up, walked in the order of the specification. Targets are absolute paths inside. */
enum setup {
  SETUP_OVERLAY = 1,   /* LOWER+ TARGET NAME (of its writable layer) */
  SETUP_BIND = 2,      /* PATH TARGET IDS FLAGS(1 writable) */
  SETUP_TMPFS = 3,     /* TARGET SIZE MODE */
  SETUP_PROC = 4,      /* TARGET: what proc.c does not list is covered */
  SETUP_DEVICES = 5,   /* TARGET SIZE (of shm) */
  SETUP_HELD = 6,      /* TARGET: a mount of its own, so that nobody inside can rename it */
  SETUP_READ_ONLY = 7, /* TARGET: remounted read-only */
  SETUP_VIEW = 8,      /* PATH TARGET IDS: a folder of the host, read-only, whose inodes (locks, watches) are the sandbox's own */
};

enum cgroup_kind { CGROUP_MEMORY = 1, CGROUP_PIDS = 2, CGROUP_CPU = 3, CGROUP_CPUACCT = 4, CGROUP_FREEZER = 5, CGROUP_V2 = 6 };

/* Descriptors that whoever starts the jail gives it, beside the specification on standard input. */
#define STATUS_FD 3
#define LEASH_FD 4

#define JAIL_EPHEMERAL 1u
/* For `clear`: its keeper has been waited for, and whoever still holds the lock is dying. */
#define JAIL_KEEPER_IS_GONE 2u
/* For `clear`: its keeper says nothing, and is ended first. */
#define JAIL_END_KEEPER 4u
#define JAIL_NESTED_FILTERS 8u
#define SETUP_WRITABLE 1u
/* The kernel knows no larger number of processes; the other bound keeps every sum of bytes from wrapping. */
#define PIDS_MAX (4u * 1024 * 1024)
#define BYTES_MAX (1ull << 52)
#define LAYER_NAME_MAX 32u

#define CGROUPS_MAX 6
#define STEPS_MAX 64
#define SOURCES_MAX 160
#define SLOT_SIZE 65536u
/* Every slot lies above what /etc/subuid hands out, the canonical range of the layers on disk below every slot. */
#define SLOT_FIRST_ID 2000000000u
#define SLOT_COUNT 32768u
#define CANONICAL_FIRST_ID 1000000000u
#define INNER_USER 1000u
#define RESERVED_MEMORY (4u * 1024 * 1024)

struct cgroup {
  enum cgroup_kind kind;
  const char *path;
};

/* A mount source: opened by the keeper where it is root, by the sandbox's first process otherwise. */
struct source {
  const char *path;
  enum ids ids;
  bool writable;
};

struct step {
  enum setup kind;
  const char *target, *name;
  uint64_t size;
  uint32_t mode, owner;
  /* Its sources, lowest index topmost, in the specification's list. */
  unsigned first_source, source_count;
};

/* Texts lie in the buffer that was parsed. */
struct spec {
  const char *id, *hostname, *folder, *sockets, *layers, *slots, *newuidmap, *newgidmap, *boot_id;
  uint32_t slot_hint, subuid, subgid, workspace_uid, workspace_gid;
  enum id_map id_map;
  enum storage storage;
  uint64_t memory, disk, deadline_ms;
  uint32_t cpu_milli, pids, files;
  bool ephemeral, keeper_is_gone, end_keeper, nested_filters;
  struct cgroup cgroups[CGROUPS_MAX];
  struct step steps[STEPS_MAX];
  struct source sources[SOURCES_MAX];
  unsigned cgroup_count, step_count, source_count;
};

/* failure.c: names the step to whoever waits for the jail, after `at_failure` has removed what was made. */
void set_failure_report(int fd, const char *id, void (*at_failure)(void));
_Noreturn void die(const char *step);
_Noreturn void die_with(int error, const char *step);
_Noreturn void die_at(const char *action, const char *target);
/* Without errno: what was asked for is wrong. */
_Noreturn void refuse(const char *what);

/* spec.c */
struct spec_bytes {
  uint8_t *bytes;
  size_t length;
};
/* The fields as they came, without their head. */
struct spec_bytes read_spec(int fd);
/* Reads in place; refuses what it does not know. */
void parse_spec(struct spec_bytes raw, struct spec *spec);

/* idmap.c */
uint32_t claim_slot(const struct spec *spec, int *lock_fd);
void write_id_maps(const struct spec *spec, pid_t pid, uint32_t first_id);
int open_user_namespace_of(pid_t pid);
/* For idmapped mounts. The process that held it was told to end; the caller waits for it. */
int open_layer_namespace(uint32_t first_id, pid_t *holder);
int open_workspace_namespace(const struct spec *spec, uint32_t first_id, pid_t *holder);

/* source.c */
/* A detached copy of the mount that the source lies on: read-only unless asked, without set-id, devices or propagation. */
int open_source(const struct spec *spec, const struct source *source, int id_namespace, bool recursive);

/* mounts.c */
struct root_sources {
  const int *sources;
  int layers;  /* the tree of the writable layers, or -1 with tmpfs storage */
  int devices; /* what `open_devices` made, or -1 where the keeper is not root: the host's own nodes then */
};
/* Takes all descriptors. */
void build_root(const struct spec *spec, struct root_sources given);
void attach_mount(int tree, int target, const char *name);
int clone_mount(int at, const char *path, unsigned flags);

/* devices.c: the device nodes of one sandbox, in memory. Only root of the host can make some that work. */
#define DEVICE_COUNT 6
struct device {
  const char *name;
  unsigned major, minor;
};
extern const struct device DEVICES[DEVICE_COUNT];
int open_devices(uint32_t owner);

/* proc.c: covers what of a fresh /proc is not listed there. `file` and `folder`: trees with nothing in them. */
void cover_proc(int proc, const char *file, const char *folder);

/* capabilities.c, seccomp.c */
/* Beside these each keeps the guest's mark (rights.h). */
void keep_capabilities(void);
void keep_no_capability(void);
struct seccomp_options {
  bool shares_folder;  /* the sandbox can write into a folder of the host, where no setuid or setgid file may appear */
  bool single_id;      /* the guest's ids are the programs' ids */
  bool nested_filters; /* programs may filter their own calls */
};
void install_seccomp(struct seccomp_options options);

/* cgroup.c */
void make_cgroups(const struct spec *spec);
bool remove_cgroups(const struct spec *spec);
/* Kills what is in the groups of a lost keeper, paused or not, and waits until it is gone. */
void end_cgroups(const struct spec *spec);
/* v1: descriptors that the sandbox's first process writes itself into. */
unsigned open_cgroup_joins(const struct spec *spec, int fds[CGROUPS_MAX]);
void join_cgroups(const int *fds, unsigned count);
/* v2: the group to be born in, or -1. */
bool uses_cgroup_v2(const struct spec *spec);
int open_cgroup_v2(const struct spec *spec);
/* False with ENOTSUP where there is no freezer. */
bool freeze_cgroups(const struct spec *spec, bool frozen);
struct cgroup_usage {
  uint64_t memory, memory_peak, cpu_us;
  uint32_t processes, oom_kills;
};
void read_cgroup_usage(const struct spec *spec, struct cgroup_usage *usage);

/* storage.c, remove-tree.c */
void make_layers(const struct spec *spec);
bool remove_layers(const struct spec *spec);
bool remove_tree(int parent, const char *name);

/* record.c */
#define RECORD_FILE "record"
void write_record(const struct spec *spec, struct spec_bytes record);
/* False when the keeper never came to write it. Refuses the record of another sandbox. */
bool read_record(const struct spec *asked, struct spec *spec);
/* False when the host has started anew since the record was written: no process and no group of that time is left. */
bool is_this_boot(const struct spec *spec);

/* clean.c */
#define GUEST_SOCKET "guest"
/* What the guest's socket is called while the sandbox is paused. */
#define PAUSED_SOCKET "paused"
#define KEEPER_SOCKET "keeper"
#define EXIT_ALIVE 3
/* Locks the folder itself; false when somebody else has it. Held until this process ends. */
bool take_lock(int folder);
bool has_ended(int folder);
/* Takes the room that the end will be written in, so that a full disk cannot take the reason. */
void reserve_end(int folder);
void write_end(int folder, const char *reason);
/* False when a control group could not be removed; the record is then still there. */
bool clean_kernel_objects(const struct spec *spec);
bool remove_writable_layers(const struct spec *spec);
/* Gives the guest's socket the name that hosts connect to, or that of a paused one. */
bool name_guest_socket(const struct spec *spec, bool running);

/* inside.c: the sandbox's first process. */
/* `argv`: the host's command line, which /proc shows inside until it is overwritten. */
_Noreturn void run_inside(const struct spec *spec, int channel, char **argv);

/* words.c: the words between the keeper and the sandbox's first process while it is built. */
enum word { WORD_SOURCES = 1, WORD_READY = 2, WORD_GO = 3 };
#define CHANNEL_FDS_MAX (SOURCES_MAX + CGROUPS_MAX + 3)
bool send_word(int channel, enum word word, const int *fds, unsigned count);
/* The number of descriptors that came, or -1: the other side is gone or said something else. */
int receive_word(int channel, enum word word, int *fds, unsigned capacity);

/* keeper.c */
struct kept {
  const struct spec *spec;
  int folder;
  int pidfd;
  pid_t pid;
  int control; /* listening */
  int timer;   /* goes off at the deadline */
  int leash;   /* -1, or ends when the process that made an ephemeral sandbox ends */
};
/* The switch that works when everybody else is gone: without it no sandbox begins. */
int open_deadline(const struct spec *spec);
_Noreturn void keep(struct kept *kept);

int jail_main(char **argv);
int spawner_main(void);
int clear_main(void);
int pool_main(const char *image, const char *folder);

#endif
