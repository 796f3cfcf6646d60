/*
 * Brings what was written to the disk, and then marks the frozen layers that lie there whole. A power cut may have left one without a mark in
 * part. One flush takes all layers of the home with it: of several callers each waits for the one before, and then has less to do.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "layers.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define ID_LENGTH 20u
#define FIRST_ROOM 64u
#define FACTS_MAX 4096

struct names {
  char (*ids)[ID_LENGTH + 1];
  size_t count, room;
};

struct entry_path {
  char text[ID_LENGTH + 16];
};

static struct entry_path entry_of(const char *id, const char *name) {
  struct entry_path path;
  snprintf(path.text, sizeof path.text, "%s/%s", id, name);
  return path;
}

static bool has_entry(int layers, const char *id, const char *name) { return faccessat(layers, entry_of(id, name).text, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

static void add_name(struct names *names, const char *id) {
  if (names->count == names->room) {
    names->room = names->room == 0 ? FIRST_ROOM : 2 * names->room;
    names->ids = realloc(names->ids, names->room * sizeof *names->ids);
    if (names->ids == NULL) fail_job("remember", "the frozen layers");
  }
  memcpy(names->ids[names->count++], id, ID_LENGTH + 1);
}

/* What an earlier boot has left without a mark may be there in part, and stays without. */
static bool is_of_boot(int layers, const char *id, const char *boot) {
  char facts[FACTS_MAX], wanted[FACTS_MAX];
  int fd = openat(layers, entry_of(id, FACTS_FILE).text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, facts, sizeof facts);
  if (fd >= 0) close(fd);
  int wanted_length = snprintf(wanted, sizeof wanted, "\"boot\":\"%s\"", boot);
  return length > 0 && wanted_length < (int)sizeof wanted && memmem(facts, (size_t)length, wanted, (size_t)wanted_length) != NULL;
}

/* The layers of this boot that are finished, and have no mark yet. */
static struct names find_unmarked(int layers, const char *boot) {
  struct names names = {.ids = NULL};
  int fd = openat(layers, ".", FOLDER_FLAGS);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  if (list == NULL) fail_job("list", "the frozen layers");
  while ((entry = readdir(list)) != NULL) {
    const char *id = entry->d_name;
    bool is_layer = id[0] != '.' && strlen(id) == ID_LENGTH;
    if (is_layer && !has_entry(layers, id, FLUSHED_FILE) && is_of_boot(layers, id, boot)) add_name(&names, id);
  }
  closedir(list);
  return names;
}

/* One that was removed meanwhile gets no mark. */
static void mark(int layers, const struct names *names) {
  for (size_t i = 0; i < names->count; i++) {
    int fd = openat(layers, entry_of(names->ids[i], FLUSHED_FILE).text, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    else if (errno != ENOENT) fail_job("mark the frozen layer", names->ids[i]);
  }
}

static void flush(int folder, const char *shown) {
  if (syncfs(folder) < 0) fail_job("write to the disk", shown);
}

/* Without layers of the home there is nothing to mark. A caller that does not wait for the disk may have gone, or be ended with all its group. */
int flush_job(const struct spec *spec) {
  int written = open(spec->frozen, FOLDER_FLAGS), layers = open(spec->layer, FOLDER_FLAGS);
  struct names names = {.ids = NULL};
  if (spec->boot_id == NULL) refuse("a flush does not say the boot of the machine");
  if (written < 0) fail_job("open", spec->frozen);
  if (layers < 0 && errno != ENOENT) fail_job("open", spec->layer);
  if (layers >= 0 && flock(layers, LOCK_EX) < 0) fail_job("lock", spec->layer);
  if (layers >= 0) names = find_unmarked(layers, spec->boot_id);
  signal(SIGPIPE, SIG_IGN);
  if (!spec->durable) {
    setsid();
    dprintf(STDOUT_FILENO, "done\n");
  }
  if (names.count > 0) flush(layers, spec->layer);
  flush(written, spec->frozen);
  mark(layers, &names);
  return EXIT_SUCCESS;
}
