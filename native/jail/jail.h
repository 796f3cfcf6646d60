/* The jail: builds a sandbox, then stays outside as its keeper. */
#ifndef BELLJAR_JAIL_H
#define BELLJAR_JAIL_H

#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frames.h"
#include "guest.h"
#include "inside.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* How the ids inside map to the host's. */
enum id_map {
  ID_MAP_SLOT = 1,   /* root: 65,536 ids of a slot of its own */
  ID_MAP_SINGLE = 2, /* an ordinary user: one id, 1000 inside */
  ID_MAP_SUBIDS = 3, /* an ordinary user with newuidmap: 65,536 ids, 1000 inside is the user */
};

enum storage {
  STORAGE_FOLDER = 1, /* the writable layers lie in a host folder */
  STORAGE_TMPFS = 2,  /* ... in memory, of a fixed size, with the holder */
  STORAGE_BTRFS = 3,  /* ... in a btrfs subvolume of its own, with a quota */
};

/* Whose ids a source's files carry on disk. */
enum ids {
  IDS_HOST = 0,      /* the host's: root there is root inside */
  IDS_LAYER = 1,     /* the canonical range of our layers */
  IDS_WORKSPACE = 2, /* the workspace owner's: `user` inside */
  IDS_NONE = 3,      /* no map: every owner is `nobody` inside, and files that others may not read stay unreadable */
  IDS_HELD = 4,      /* of a lower layer: it lies with the writable layers, where its path begins */
};

/* The steps of the set-up, done in the order of the specification. Targets are absolute paths inside. */
enum setup {
  SETUP_OVERLAY = 1,   /* LOWER+ TARGET NAME (of its writable layer) */
  SETUP_BIND = 2,      /* PATH TARGET IDS FLAGS(1 writable) */
  SETUP_PROC = 3,      /* TARGET: covers every entry that proc.c does not list */
  SETUP_DEVICES = 4,   /* TARGET SIZE (of shm) */
  SETUP_HELD = 5,      /* TARGET: a mount of its own, so that nobody inside can rename it */
  SETUP_READ_ONLY = 6, /* TARGET: remounted read-only */
  SETUP_VIEW = 7,      /* PATH TARGET IDS: a folder of the host, read-only. Its inodes, and so locks and watches, are the sandbox's own */
  SETUP_FOLDER = 8,    /* TARGET: a folder of the root, made with those above it. What is no folder there is taken away */
  SETUP_LINK = 9,      /* PATH (what it says) TARGET: a link of the root, in place of what is no folder with content */
};

enum cgroup_kind { CGROUP_MEMORY = 1, CGROUP_PIDS = 2, CGROUP_CPU = 3, CGROUP_CPUACCT = 4, CGROUP_FREEZER = 5, CGROUP_V2 = 6 };

/* Descriptors that the jail is started with. Its standard input is the specification. */
#define STATUS_FD 3
#define LEASH_FD 4

#define JAIL_EPHEMERAL 1u
/* For `clear`: the keeper was waited for. A process that still holds the lock is about to end. */
#define JAIL_KEEPER_IS_GONE 2u
/* For `clear`: the keeper does not answer. It is killed first. */
#define JAIL_END_KEEPER 4u
#define JAIL_NESTED_FILTERS 8u
/* For a run that is not the first: the writable layers are there. */
#define JAIL_HAS_LAYERS 16u
/* For `clear`: the sandbox is deleted, and what it wrote with it. */
#define JAIL_REMOVE_LAYERS 32u
#define JAIL_NO_ROOT 64u
/* For a job on layers: what it makes is on the disk before it ends. */
#define JAIL_DURABLE 128u
/* Of an overlay: its folders are renamed although they lie in a lower layer. */
#define SETUP_RENAMES 2u
#define SETUP_WRITABLE 1u
/* PIDS_MAX is the kernel's own bound. BYTES_MAX keeps sums of bytes from wrapping. */
#define PIDS_MAX (4u * 1024 * 1024)
#define BYTES_MAX (1ull << 52)
/* Six digits in the names of the run's control groups and sockets. */
#define RUNS_MAX 999999u
#define LAYER_NAME_MAX 32u
#define ID_LENGTH 20u

#define CGROUPS_MAX 6
#define STEPS_MAX 64
/* The kernel's own bound of the lower layers of one overlay. */
#define LOWER_LAYERS_MAX 500
#define SOURCES_MAX 640
#define SLOT_SIZE 65536u
/* All slots lie above the ranges of /etc/subuid. The canonical range of layers on disk lies below all slots. */
#define SLOT_FIRST_ID 2000000000u
#define SLOT_COUNT 32768u
#define CANONICAL_FIRST_ID 1000000000u
#define RESERVED_MEMORY (4u * 1024 * 1024)

struct cgroup {
  enum cgroup_kind kind;
  const char *path;
};

/* A mount source. A keeper that is root opens it; otherwise the sandbox's first process does. */
struct source {
  const char *path;
  enum ids ids;
  bool writable;
};

struct step {
  enum setup kind;
  const char *target, *name, *link;
  uint64_t size;
  uint32_t mode, owner;
  bool renames; /* of an overlay: layers of the sandbox's own lie below it, or a folder of the host */
  /* Its part of spec.sources; the lowest index is the topmost layer. */
  unsigned first_source, source_count;
};

/* The texts lie in the buffer that was parsed. */
struct spec {
  const char *id, *hostname, *folder, *sockets, *layers, *slots, *newuidmap, *newgidmap, *boot_id;
  const char *seed;   /* a frozen subvolume that the first run begins with, or NULL */
  const char *user, *start_folder; /* of the guest's options, or NULL */
  const char *layer, *frozen; /* only of a job on layers (layers.h) */
  uint32_t job;
  uint32_t slot_hint, subuid, subgid, workspace_uid, workspace_gid;
  enum id_map id_map;
  enum storage storage;
  uint64_t memory, disk, deadline_ms;
  uint32_t cpu_milli, pids, files;
  uint32_t run; /* counts the sandbox's runs, from 1 */
  enum deadline_action action;
  bool ephemeral, keeper_is_gone, end_keeper, nested_filters, has_layers, remove_layers, no_root, durable;
  struct cgroup cgroups[CGROUPS_MAX];
  struct step steps[STEPS_MAX];
  struct source sources[SOURCES_MAX];
  unsigned cgroup_count, step_count, source_count;
};

/* die.c: a failure first calls `at_failure`, which removes what was made, then reports the step on `fd`. */
void set_failure_report(int fd, const struct spec *run, void (*at_failure)(void));
/* Names the run that an answer is about. */
void put_run(struct field_writer *fields, const struct spec *spec);
_Noreturn void die(const char *step);
_Noreturn void die_with(int error, const char *step);
_Noreturn void die_at(const char *action, const char *target);
/* Without errno: the request is wrong. */
_Noreturn void refuse(const char *what);
/* What the sandbox wrote is gone. */
_Noreturn void report_lost(const char *what);

/* spec.c */
struct spec_bytes {
  uint8_t *bytes;
  size_t length;
};
/* Of the sources, those that are opened outside: all but those with IDS_HELD. */
unsigned count_outer_sources(const struct spec *spec);
/* Returns the fields, without their head. */
struct spec_bytes read_spec(int fd);
/* Reads in place. Refuses every unknown field and value. */
void parse_spec(struct spec_bytes raw, struct spec *spec);
/* The same for the pattern of specifications (pattern.h): `spec` then has its fields alone. */
void parse_pattern(struct spec_bytes raw, struct spec *spec);
/* Absolute, below the root, and made of names alone. */
bool is_plain_path(const char *path);
/* Of the writable layer of an overlay: one name. */
bool is_layer_name(const char *name);

/* idmap.c */
uint32_t claim_slot(const struct spec *spec, int *lock_fd);
void write_id_maps(const struct spec *spec, pid_t pid, uint32_t first_id);
/* The same ids for a child namespace of one that has them. This process is in the namespace above, with all rights there. */
void copy_id_maps(const struct spec *spec, pid_t pid);
int open_user_namespace_of(pid_t pid);
/* For idmapped mounts. `holder` was killed; the caller waits for it. */
int open_layer_namespace(uint32_t first_id, pid_t *holder);
int open_workspace_namespace(const struct spec *spec, uint32_t first_id, pid_t *holder);

/* source.c */
/* Returns a detached copy of the source's mount, without set-id, devices or propagation. It is read-only unless the source is writable. */
int open_source(const struct spec *spec, const struct source *source, int id_namespace, bool recursive);
/* The same for a detached mount of layers. */
void map_layers(int tree, int id_namespace);

/* mounts.c */
struct root_sources {
  const int *sources;
  int layers;  /* the tree of the writable layers */
  int devices; /* from open_devices, or -1: the keeper is not root, and the host's own nodes are used */
};
/*
 * Makes the stage, and on it all of the sandbox's file system that no specification says. From here on the host's folder below the stage
 * is covered.
 */
void make_stage(void);
/* The stage becomes the root of this process: no mount of the host is kept. */
void enter_stage(void);
/* Takes ownership of all descriptors. Returns a detached copy of the stage with all layers, for a later root (raise.h), or -1. */
int build_root(const struct spec *spec, struct root_sources given);
void attach_mount(int tree, int target, const char *name);
int clone_mount(int at, const char *path, unsigned flags);

/* copied-folders.c: the overlays whose folders are renamed although they lie in a lower layer, by their devices. */
struct copied_folders {
  const char *targets[STEPS_MAX];
  dev_t devices[STEPS_MAX];
  unsigned count;
  int64_t since;      /* when they were mounted: a time of the clock, in seconds */
  int lower;          /* the folder of the host, read-only, or -1 */
  const char *target; /* what lies over it */
};
/* Before build_root, which takes the sources. */
void keep_lower_folder(const struct spec *spec, const int *sources, struct copied_folders *copied);
/* After it. */
void find_copied_folders(const struct spec *spec, struct copied_folders *copied);
/* True: other overlays lie there now. What was made before may be in a lower layer. */
bool find_copied_folders_again(struct copied_folders *copied);

/* root-paths.c */
struct root_path {
  int root; /* the sandbox's */
  bool single_id;
  const char *target; /* a plain path */
};
void make_root_folder(const struct root_path *path);
void make_root_link(const struct root_path *path, const char *text);

/* devices.c: the device nodes of one sandbox, in memory. Only the host's root can make nodes that work. */
#define DEVICE_COUNT 6
struct device {
  const char *name;
  unsigned major, minor;
};
extern const struct device DEVICES[DEVICE_COUNT];
int open_devices(uint32_t owner);

/* proc.c: covers every entry of a new /proc that it does not list, with the empty `file` or `folder`. */
void cover_proc(int proc, const char *file, const char *folder);

/* capabilities.c, seccomp.c */
/* Both also keep the guest's mark (rights.h), and LENT_CAPABILITY as permitted alone: a thread uses it (answers.h), and all others give it back. */
void keep_capabilities(void);
void keep_no_capability(void);
#define LENT_CAPABILITY CAP_SYS_PTRACE
/* What this process may take, without the mark. */
uint64_t permitted_capabilities(void);
/* Gives up every capability. */
void drop_capabilities(void);
/* Keeps these, and gives up the right to get others. */
void keep_capabilities_alone(uint64_t kept);
/* Takes these, and gives up all others but the mark. False with errno set. */
bool take_capabilities(uint64_t taken);
struct seccomp_options {
  bool shares_folder;  /* the sandbox can write into a folder of the host: no setuid or setgid file may appear there */
  bool copies_folder;  /* it has a folder of the host as the lower layer of an overlay, whose folders it may rename */
  bool single_id;      /* the guest's ids are the programs' ids */
  bool nested_filters; /* programs may filter their own calls */
};
/*
 * For the calling thread. Returns the listener of calls that it does not decide (answers.h). -1: there is none. Then modes with setuid or
 * setgid bits fail with EPERM, and the kernel alone decides on renames.
 */
int install_seccomp(struct seccomp_options options, bool listens);

/* cgroup.c */
void make_cgroups(const struct spec *spec);
bool remove_cgroups(const struct spec *spec);
/* Kills all processes in the groups of a lost keeper, paused or not, and waits for their end. */
void end_cgroups(const struct spec *spec);
/* v1: the sandbox's first process joins a group by a write to its descriptor. */
unsigned open_cgroup_joins(const struct spec *spec, int fds[CGROUPS_MAX]);
void join_cgroups(const int *fds, unsigned count);
/* v2: the group that the first process is born into, or -1. */
bool uses_cgroup_v2(const struct spec *spec);
int open_cgroup_v2(const struct spec *spec);
struct cgroup_usage {
  uint64_t memory, memory_peak, cpu_us;
  uint32_t processes, oom_kills;
};
void read_cgroup_usage(const struct spec *spec, struct cgroup_usage *usage);

/* The sandbox's own group, or -1 with errno set. */
int open_group(const struct spec *spec, const struct cgroup *cgroup);
bool write_group_file(int group, const char *name, const char *text);

/* reclaim.c: gives memory of a paused sandbox back to the host, as far as the kernel can take it: what files hold of it, and with swap the rest. */
struct reclaim {
  pid_t pid; /* 0: nobody does */
  int pidfd;
};
/* A child does it, for seconds at most. */
void reclaim_begin(const struct spec *spec, struct reclaim *reclaim);
/* The child ends soon. */
void reclaim_stop(const struct reclaim *reclaim);
/* It has ended. */
void reclaim_end(struct reclaim *reclaim);

/* freezer.c */
bool has_freezer(const struct spec *spec);
/* A freeze is done when every process stands still. False with errno ENOTSUP: there is no freezer; ETIMEDOUT: some process does not stop. */
bool freeze_cgroups(const struct spec *spec, bool frozen);

/* hold.c: layers in memory, which the holder (hold.h) keeps. */
struct hold {
  int connection; /* -1: the layers are no holder's */
  int layers;         /* a detached mount */
  int user_namespace; /* of the holder, or -1: the holder is root's, which has no own, or this process has joined it */
  bool is_joined;     /* this process is in the holder's user namespace, where the ids are mapped already */
};
/* Asks the holder for its user namespace, before there is a specification. False: there is no holder, or it does not give one. */
bool ask_for_namespace(const struct spec *pattern, struct hold *hold);
/* Starts a holder if there is none, and sends it the request. New layers go when the connection closes, unless they are kept. */
void ask_for_layers(const struct spec *spec, int leash, struct hold *hold);
/* Takes the answer. If the holder has ended meanwhile, asks again. */
void await_layers(const struct spec *spec, int leash, struct hold *hold);
/* The holder lives, and has them. */
bool are_layers_held(const struct hold *hold);
/* From here on they stay until they are dropped. False: the holder is gone, and they go with the run. */
bool keep_held_layers(const struct spec *spec, const struct hold *hold);
/* False: a holder is there and does not do it. */
bool drop_held_layers(const struct spec *spec);
/* Returns another mount of the layers, while a run may use them. -1 with errno ENOENT: they are gone. */
int view_held_layers(const struct spec *spec);

/* storage.c, remove-tree.c */
/* Makes the layers of the first run, and those of a later one ready to be mounted again. Without a limit until `limit_layers`. The holder makes those in memory. */
void make_layers(const struct spec *spec);
/* From here on the disk limit holds. Called before the sandbox runs anything. */
void limit_layers(const struct spec *spec);
/* Takes away what forbids another mount of the layers. No earlier run may live. */
bool settle_layers(const struct spec *spec);
/* Only as root. False with errno set. */
bool make_subvolume(const char *path);
/* Beside a sandbox's subvolume: what takes its place, and what it was. False: the path is too long. */
#define LAYERS_NEW ".new"
#define LAYERS_GONE ".gone"
bool beside_layers(const struct spec *spec, const char *suffix, char path[PATH_MAX]);
/* Makes a snapshot of a subvolume. False with errno set. */
bool clone_subvolume(const char *from, const char *to, bool read_only);
/* True: it is gone. */
bool remove_subvolume(const char *path);
bool remove_layers(const struct spec *spec);
bool remove_tree(int parent, const char *name);

/* record.c */
#define RECORD_FILE "record"
void write_record(const struct spec *spec, struct spec_bytes record);
/* False: the keeper ended before it wrote the record. Refuses the record of another sandbox. */
bool read_record(const struct spec *asked, struct spec *spec);
/* False: the host has rebooted since the record was written, so no process and no group is left. */
bool is_this_boot(const struct spec *spec);

/* clean.c */
#define GUEST_SOCKET "guest"
/* The name of the guest's socket while the sandbox is paused. */
#define PAUSED_SOCKET "paused"
#define KEEPER_SOCKET "keeper"
#define EXIT_ALIVE 3
/* Locks the folder itself until this process ends. False: another process holds the lock. */
bool take_lock(int folder);
/* The same, but waits a little: a dying process lets go of its locks one after the other, in an order of the kernel's. */
bool take_lock_soon(int folder);
/* Opens the folder of all runs. Its lock is held by the run that uses the layers, and by whoever removes them. */
int open_runs(const struct spec *spec);
bool has_ended(int folder);
/* Takes the room that the end will be written into, so that it can be written on a full disk too. */
void reserve_end(int folder);
/* `kept`: the layers stay, and another run can be started on them. False: there is no end, and it cannot be written. */
bool write_end(int folder, const char *reason, bool kept);
/* False: a control group could not be removed. The record then stays. */
bool clean_kernel_objects(const struct spec *spec);
/* Runs the work as the owner of the files of layers, and returns its result, or EXIT_FAILURE. */
int run_as_owner(const struct spec *spec, int (*work)(const struct spec *));
/* The same in a process of its own that has those ids and no others, also where this one is root. */
int run_in_namespace(const struct spec *spec, int (*work)(const struct spec *));
/* The layers' files may belong to other ids than this process's. */
bool remove_layers_as_owner(const struct spec *spec);
bool settle_layers_as_owner(const struct spec *spec);
/* measure.c: prints how many bytes they take. */
bool count_layers(const struct spec *spec);
bool count_layers_as_owner(const struct spec *spec);
/* The layers are gone. */
#define EXIT_NO_LAYERS 5
/* Gives the guest's socket the name of a running or of a paused sandbox. */
bool name_guest_socket(const struct spec *spec, bool running);

/* birth.c: returns 0 in the sandbox's first process, in a user and a PID namespace of its own. */
pid_t clone_inside(const struct spec *spec, uint32_t first_id, int *pidfd);

/* inside.c: the sandbox's first process. */
/* Returns how many there are. */
unsigned open_overlays(const struct spec *spec, int *fds);
/* A number below 3 stands for no descriptor. */
void close_all_but(const int *kept, size_t count);
/* `argv` is the host's command line, which is overwritten: /proc would show it inside. */
_Noreturn void run_inside(struct spec *spec, int channel, struct activity *activity, char **argv);

/* programs.c: the user namespace that the sandbox's programs run in. */
struct programs {
  int user_namespace; /* 0: with one id there is none */
  pid_t first;        /* was killed */
};
/* Called by the first process inside, once it has the sandbox's /proc, limits and root: the guest's root, who made it, has every right over it. */
struct programs make_programs(const struct spec *spec);
/* Before the guest waits for children of its own. */
void await_first(const struct programs *programs);

/* words.c: the words between the keeper and the sandbox's first process during the set-up, one of who prepares a rename, and those of raise.h. */
enum word { WORD_SOURCES = 1, WORD_DOORS = 2, WORD_READY = 3, WORD_GO = 4, WORD_MORE = 5, WORD_MAPPED = 6, WORD_SPEC = 7, WORD_FOLDERS = 8, WORD_RAISED = 9 };
#define CHANNEL_FDS_MAX (SOURCES_MAX + 2)
/* Of one sandbox: the root, /usr and a workspace. */
#define OVERLAYS_MAX 4
bool send_word(int channel, enum word word, const int *fds, unsigned count);
/* Returns the number of descriptors. -1: the other side has gone or has sent another word. */
int receive_word(int channel, enum word word, int *fds, unsigned capacity);

/* keeper.c */
struct kept {
  const struct spec *spec;
  int runs;   /* the folder of all runs: locked while this one uses the layers */
  int folder; /* the run's own */
  int pidfd;
  pid_t pid;
  int control; /* listening */
  int guest;   /* the guest's listening socket; -1 once the guest is gone */
  struct activity *activity;
  int timer;   /* goes off at the deadline */
  struct hold hold;
  int overlays[OVERLAYS_MAX]; /* stay open, so that nobody who stops the sandbox waits until the kernel has freed what it holds of their files */
  unsigned overlay_count;
  /* Where a raise (raise.h) begins: a detached copy of the stage, and the sandbox's namespaces. -1: there is none. */
  int stage, user_namespace, mount_namespace;
  int leash;   /* closes when the process that made an ephemeral sandbox ends; -1 for others */
};
/* The deadline works without any other process. No sandbox starts without it. */
int open_deadline(const struct spec *spec);
_Noreturn void keep(struct kept *kept);

/* program.c: what keepers are started from. */
#define PROGRAM_PATH_MAX 32
struct program {
  int copy; /* in memory, or -1 */
  char path[PROGRAM_PATH_MAX];
};
void open_program(struct program *program);
/* Before Linux 6.3, a sandbox could take this from the copy. */
void keep_executable(const struct program *program);

/* A spare keeper ended before it made anything for its specification: another keeper can take it. */
#define EXIT_GAVE_UP 4
/* A spare keeper first reads the pattern of the specifications that it may get. */
int jail_main(char **argv, bool is_spare);
int holder_main(const char *path);
int spawner_main(void);
int clear_main(void);
int measure_main(void);
/* pool.c: `argv` is the image, the folder that it is mounted on, and the size that the pool should have. */
int pool_main(const char *work, char **argv);
/* Until this process ends nobody unmounts the pool that the sandbox's layers lie in. Others have none. */
void hold_pool(const struct spec *spec);
int jobs_main(void);
int compare_main(void);
/* Asks sockets together. */
int ask_main(void);
int unpack_main(void);

#endif
