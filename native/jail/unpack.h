/*
 * Writes what a layer of an OCI image holds into a frozen layer. The archive is a stranger's, so the process that reads it has the ids of the
 * layer's files and no others, and the layer's folder for its root: no name and no link leads out of it, whatever the code below does.
 */
#ifndef BELLJAR_UNPACK_H
#define BELLJAR_UNPACK_H

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "layers.h"
#include "tar.h"

#define EXIT_MALFORMED 7 /* it is no archive of a layer */
#define EXIT_TOO_LARGE 8 /* it holds more than it may */

/* When a folder was changed, as the archive says. */
struct folder_time {
  ino_t folder;
  uint32_t order;
  struct timespec time;
};

struct folder_times {
  struct folder_time *list;
  size_t count, room;
};

struct unpack {
  struct tar tar;
  struct tar_entry entry;
  int root;         /* the folder of the overlay `/` */
  const int *below; /* the same of the layers that it lies on, the topmost first: each a mount of its own, read-only */
  unsigned below_count;
  bool has_ids; /* false: there is one id, which everything belongs to */
  uint64_t bytes, bytes_max, entries, entries_max, skipped;
  char parent_path[PATH_MAX];
  int parent; /* the folder of the last entry, which that path leads to; -1: none */
  struct folder_times times;
};

struct at {
  int folder;
  const char *name;
};

#define OPAQUE "user.overlay.opaque"

enum there { THERE_NOTHING, THERE_FOLDER, THERE_WHITEOUT, THERE_OTHER };

/* unpack.c */
/* Before it is made. */
void count_entry(struct unpack *unpack);
void count_bytes(struct unpack *unpack, uint64_t bytes);

/* unpack-place.c */
/* The folder that an entry lies in, with the entry's own name. What is missing is made. The folder stays open until the next call. */
struct at open_place(struct unpack *unpack, const char *path);
/* The same for a place that must be there. The caller closes the folder. -1: there is none. */
struct at find_place(struct unpack *unpack, const char *path);
/* The path with the links on the way there resolved. */
void resolve_place(const struct unpack *unpack, const char *path, char resolved[PATH_MAX]);
enum there look_at(struct at at, struct stat *status);
/* Makes a folder, or takes the one that is there. Whatever else was there hid what lower layers have, and so does the folder. Returns it. */
int open_layer_folder(struct at at);
void make_opaque(int folder, const char *shown);
/* Takes away what the archive has put there before. */
void make_room(struct at at);

/* unpack-shown.c */
/* What layers show at a path. `layer` is the one that has it. -1: there is nothing. */
struct shown {
  int layer;
  struct stat status;
};
/* Through folders alone. -1 with errno set. */
int open_in_layer(int layer, const char *path, int flags);
struct shown find_shown(const struct unpack *unpack, const char *path);
void read_shown_link(const struct shown *link, const char *path, char text[PATH_MAX]);
/* Makes a new folder look like the one that it covers: the kernel shows the attributes of the topmost. */
void copy_folder(struct unpack *unpack, const struct shown *covered, const char *path, int folder);
/* Copies the file that lower layers show at a path into this one. It then has other names here; those that it has below keep what they are. */
void raise_file(struct unpack *unpack, const char *path);

/* unpack-entry.c */
/* Those of overlays would say what lower layers show; all others give rights. */
bool is_kept_attribute(const char *name);
void unpack_entry(struct unpack *unpack);

/* folder-times.c */
void note_folder_time(struct folder_times *times, int folder, struct timespec time);
/* Once nothing is made in the folders any more. */
void set_folder_times(struct folder_times *times, int root);

#endif
