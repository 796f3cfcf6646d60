/*
 * Compares two states of what sandboxes wrote, and reads files of one. A state is a stack of overlay layers for each overlay. It is never
 * mounted: the layers are read as the kernel's overlays would read them. What lies in them is hostile, and may change meanwhile.
 */
#ifndef BELLJAR_COMPARE_H
#define BELLJAR_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "jail.h"

/* compare-request.c */
enum side { SIDE_BEFORE, SIDE_AFTER, SIDE_COUNT };
struct compare_request {
  struct spec specs[SIDE_COUNT];
  const char *path; /* NULL: both sides are compared. Else this file of SIDE_BEFORE is read, which is then the only one */
  uint64_t limit;   /* of the bytes that are read */
};
/* Reads in place. Refuses every unknown field and value, and two sides that have other overlays. */
void parse_compare_request(struct spec_bytes raw, struct compare_request *request);

/* stack.c: the layers of one overlay on both sides, and the folder that the walk is in. */
#define STACK_LAYERS_MAX (LOWER_LAYERS_MAX + 1)

struct layer {
  int root;
  enum ids ids;
  bool is_mapped; /* this process is in a namespace with the sandbox's map: ids are those inside */
  uint32_t owner, group; /* of the layer's root, for IDS_WORKSPACE */
};

/* Layers that have a folder of one path, topmost first, and hide none of one another. */
struct members {
  unsigned count;
  uint16_t layers[STACK_LAYERS_MAX];
  int folders[STACK_LAYERS_MAX]; /* -1: not open now */
};

struct level {
  struct members sides[SIDE_COUNT];
  size_t path_length;
};

struct stack {
  const char *target; /* where the overlay is mounted inside */
  bool is_mapped;
  struct layer layers[SIDE_COUNT * STACK_LAYERS_MAX];
  unsigned count;
  unsigned first_shared; /* from here on the layers are those of both sides */
  struct level levels[LIST_LEVELS_MAX + 1];
  char path[PATH_MAX]; /* of the current folder, below the overlay */
  unsigned open;       /* folders */
};

/* What a name of the current folder is on one side. */
struct found {
  bool is_there;
  unsigned member; /* of the folder: which of its layers has it */
  const struct layer *layer;
  struct stat status;
};

/* `written`: the trees of the writable layers, or -1 for a state that has nothing there. */
void open_stack(struct stack *stack, const struct compare_request *request, unsigned step, const int written[SIDE_COUNT]);
void close_stack(struct stack *stack);
/* The folder of a member of that level, which the walk is in or below. -1: it is gone, or nobody may open it. */
int member_folder(struct stack *stack, unsigned level, enum side side, unsigned member);
/* Looks a name of the level's folder up. A folder's members become those of the level below. */
void look_up(struct stack *stack, unsigned level, enum side side, const char *name, struct found *found);
/* The same for the overlay's own folder. The members are those of the first level. */
void look_up_root(struct stack *stack, enum side side, struct found *found);
/* Makes room for more open folders, if there are many. */
void close_folders_above(struct stack *stack, unsigned level);
/* Below this folder both sides are the same where no layer of theirs alone has anything. */
bool shares_rest(const struct stack *stack, unsigned level);
/* Both sides are the same in all that lies below. */
bool shares_all(const struct stack *stack, unsigned level);
/* An entry was removed, or lies where no sandbox's root could see it. */
bool is_absent_error(int error);
/* Opens a file or a folder, as it was found, or fails with errno. It is never something else that is opened. */
int open_found(struct stack *stack, unsigned level, enum side side, const char *name, const struct found *found);

/* same-content.c: false also for files that change meanwhile. */
bool is_same_content(int one, int other, uint64_t size);

/* compare-attributes.c */
#define ATTRIBUTES_MAX_BYTES (24u * 1024)
/* By name, each with a NUL, the length of the value in four bytes, and the value. */
struct attributes {
  uint8_t bytes[ATTRIBUTES_MAX_BYTES];
  size_t length;
  bool is_too_long; /* then there are no bytes: they are told as changed, and cannot be carried */
};
/* Of what is open. Those that programs inside set; -1 has none. */
void read_attributes(int fd, struct attributes *attributes);
bool is_same_attributes(const struct attributes *one, const struct attributes *other);

/* compare-answer.c: frames on standard output. */
struct shown {
  const struct found *found; /* NULL, or not there: nothing */
  const char *target;        /* of a link */
  size_t target_length;
  const struct attributes *attributes; /* NULL: none */
};
#define ENTRY_ATTRIBUTES_UNTOLD 1u
#define CHANGE_UNSEEN 1u /* what lies in it lies too deep, and was not looked at */
void answer_change(const struct stack *stack, const char *path, const struct shown shown[SIDE_COUNT], unsigned flags);
void answer_entry(const struct found *found);
void answer_data(const void *bytes, size_t length);
void answer_missing(const char *text);
void answer_end(void);
/* The ids inside. */
uint32_t owner_inside(const struct found *found);
uint32_t group_inside(const struct found *found);

/* compare-walk.c, read-state.c */
/* What the steps of `spec` mount below is left out. */
void compare_stacks(struct stack *stack, const struct spec *spec);
/* `rest`: the path below the overlay. */
void read_state(struct stack *stack, const char *rest, uint64_t limit);

#endif
