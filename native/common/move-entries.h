/* Moves what is in a folder of an overlay into another folder, entry by entry, and back. For whole-folder.c. */
#ifndef BELLJAR_MOVE_ENTRIES_H
#define BELLJAR_MOVE_ENTRIES_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Others may make new entries meanwhile. */
#define PASSES_MAX 16

/* The old folder, what it was like before, and the new one that gets its entries. A descriptor is -1 if it could not be opened. */
struct pair {
  int from, to;
  struct stat like;
};

static inline bool is_taken(int error) { return error == ENOTEMPTY || error == EEXIST; }

/* Makes the new folder, which only this process's user may enter. */
bool open_pair(struct pair *pair, int above_from, const char *name, int above_to, const char *as);
/* Keeps errno. */
void close_pair(const struct pair *pair);

/* An owner may have a folder that nothing can be taken from. `undo` and `make_alike` set its mode again. */
void open_up(const struct pair *pair);
/* The old folder is then empty. False with errno set: `undo` puts back what was moved. `until`: seconds of CLOCK_MONOTONIC. */
bool move_entries(const struct pair *pair, time_t until, unsigned depth);
/* The new folder gets the attributes, owner, mode and times of the old one. Until then nobody else may enter it. */
bool make_alike(const struct pair *pair);
/* Keeps errno. */
void undo(const struct pair *pair);
/* Only the entries: what somebody else made meanwhile is kept, and an entry whose name that has stays where it is. */
void take_back(int from, int to, unsigned depth);

bool is_past(time_t until);
/* The flags are those of renameat2(2). */
#define NEVER_REPLACE 1u
int rename_entry(int from, const char *name, int to, const char *as, unsigned flags);
DIR *open_list(int folder);
/* NULL with errno 0 at the end. */
const char *next_entry(DIR *list);

#endif
