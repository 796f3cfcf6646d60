/*
 * A sandbox with a copied workspace renames its folders, although an overlay refuses that (whole-folder.h). Each call of the rename family
 * is told to the listener (answers.h). It is never carried out here: the kernel goes on with it in every case, with the caller's rights.
 */
#ifndef BELLJAR_RENAMES_H
#define BELLJAR_RENAMES_H

#include <sys/types.h>

#include "caller.h"
#include "jail.h"
#include "whole-folder.h"

/* renames.c */
bool is_rename(const struct seccomp_data *data);
/* Which folders may have to be made whole: one, or both of an exchange. */
unsigned rename_place_count(const struct seccomp_data *data);
struct place rename_place(const struct seccomp_data *data, unsigned index);
/*
 * A quick look: a process is worth its time. It is no check: what it reads may change at once. `since`: when the overlays were mounted,
 * in seconds. A folder that was made later, and has no lower part, is seen as such where its file system counts links.
 */
bool is_worth_a_look(int proc, const struct seccomp_notif *told, struct copied_folders *copied);
/*
 * What becomes of the folders of a rename if the process that prepares it is killed: the thread has them from it (WORD_FOLDERS), and another
 * process puts back what it has moved. Found by name, they could be other folders, to which whoever exchanged them has no right.
 */
struct kept_folders {
  int channel; /* the process's end of a pair of sockets */
  bool restores;
  struct pair pair;
};
/* The caller's rights are taken before. */
void prepare_rename(const struct call *call, const struct copied_folders *copied, uint64_t tag, const struct kept_folders *kept);

/* path-text.c */
/* Reads the text at `address` of another process. False: there is none, or it does not end. */
bool read_text(pid_t pid, uint64_t address, char text[PATH_MAX]);
/* Writes the name of a path below /proc. False: it is too long. */
bool write_proc_path(char to[PATH_MAX], pid_t pid, int folder, const char *path);

#endif
