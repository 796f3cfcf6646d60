/*
 * A parent is stopped, and stands, before its children are told to stop; they go on before it does. So a shell never sees its job stopped.
 * A process that waits for the child of its vfork does not stand (state D) until that child runs its program, and the child is not told
 * before.
 *
 * Processes are told by pid. A pid may be another process by then: that one must stop too. Before a process is told to go on, its time of
 * start is compared. It cannot end and be replaced between the two: this process reaps nobody meanwhile, and every other parent goes on later.
 */
#include "stand.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descendants.h"

#define ROWS_FIRST 64u
/* More processes than any kernel has. */
#define ROWS_MAX (1u << 22)
/* A child of one that ran may be missed by the pass that sees its parent stand. The second one finds it. */
#define QUIET_PASSES 2u

static bool is_standing(char state) { return state != 0 && strchr("TtZXx", state) != NULL; }

/* After a failed look: the process has ended. Any other failure says nothing about it. */
static bool has_gone(void) { return errno == ENOENT || errno == ESRCH; }

/* The first thread may have ended before the others. */
static bool all_threads_stand(pid_t pid) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *folder = opendir(path);
  if (folder == NULL) return has_gone();
  bool stand = true;
  for (struct dirent *entry = readdir(folder); stand && entry != NULL; entry = readdir(folder)) {
    pid_t thread = pid_of_name(entry->d_name);
    struct process_status status;
    if (thread > 0) stand = read_thread_status(pid, thread, &status) ? is_standing(status.state) : has_gone();
  }
  closedir(folder);
  return stand;
}

static bool make_room(struct stand *stand) {
  if (stand->count < stand->capacity) return true;
  size_t capacity = stand->capacity == 0 ? ROWS_FIRST : stand->capacity * 2;
  struct stood *rows = capacity > ROWS_MAX ? NULL : realloc(stand->rows, capacity * sizeof *rows);
  if (rows == NULL) {
    errno = ENOMEM;
    return false;
  }
  stand->rows = rows;
  stand->capacity = capacity;
  return true;
}

static int compare_pids(const void *one, const void *other) {
  pid_t left = ((const struct stood *)one)->pid;
  pid_t right = ((const struct stood *)other)->pid;
  return left < right ? -1 : left > right;
}

static const struct stood *find(const struct stand *stand, pid_t pid) {
  const struct stood key = {.pid = pid};
  return stand->count == 0 ? NULL : bsearch(&key, stand->rows, stand->count, sizeof key, compare_pids);
}

static bool add(struct stand *stand, const struct process_status *status, const struct stand *before) {
  if (!make_room(stand)) return false;
  const struct stood *known = find(before, status->pid);
  bool is_known = known != NULL && known->start_ticks == status->start_ticks;
  bool stands = status->threads > 1 ? all_threads_stand(status->pid) : is_standing(status->state);
  stand->rows[stand->count++] = (struct stood){
      .pid = status->pid, .parent = status->ppid, .start_ticks = status->start_ticks, .told = is_known ? known->told : 0, .stands = stands};
  return true;
}

/* False with errno set. */
static bool look(struct stand *stand, const struct stand *before) {
  DIR *folder = opendir("/proc");
  if (folder == NULL) return false;
  bool added = true;
  for (struct dirent *entry = readdir(folder); added && entry != NULL; entry = readdir(folder)) {
    pid_t pid = pid_of_name(entry->d_name);
    struct process_status status;
    if (pid > 1) added = read_process_status(pid, &status) ? add(stand, &status, before) : has_gone();
  }
  int error = errno;
  closedir(folder);
  errno = error;
  if (stand->count > 0) qsort(stand->rows, stand->count, sizeof *stand->rows, compare_pids);
  return added;
}

/* Everybody was told. Only who stood before that, untold, was stopped by somebody else. */
static void mark_all_told(struct stand *stand, const struct stand *before) {
  for (size_t i = 0; i < stand->count; i++) {
    struct stood *row = &stand->rows[i];
    const struct stood *known = find(before, row->pid);
    bool stood_before = known != NULL && known->start_ticks == row->start_ticks && known->stands;
    if (row->told == 0 && !stood_before) row->told = stand->passes;
  }
}

static bool parent_stands(const struct stand *stand, const struct stood *row) {
  const struct stood *parent = find(stand, row->parent);
  return parent == NULL || parent->stands;
}

static void tell(struct stand *stand) {
  for (size_t i = 0; i < stand->count; i++) {
    struct stood *row = &stand->rows[i];
    if (row->stands) continue;
    stand->running = row->pid;
    if (parent_stands(stand, row) && kill(row->pid, SIGSTOP) == 0 && row->told == 0) row->told = stand->passes;
  }
}

bool stand_pass(struct stand *stand, bool at_once) {
  struct stand before = *stand;
  *stand = (struct stand){.passes = before.passes + 1, .quiet = before.quiet};
  if (at_once) kill(-1, SIGSTOP);
  bool looked = look(stand, &before);
  int error = errno;
  if (!looked) {
    free(stand->rows);
    *stand = before; /* it knows who must go on */
    if (at_once) kill(-1, SIGCONT); /* nobody knows who was stopped before */
    errno = error;
    return false;
  }
  if (at_once) mark_all_told(stand, &before);
  free(before.rows);
  tell(stand);
  stand->quiet = stand->running == 0 ? stand->quiet + 1 : 0;
  errno = 0;
  return stand->quiet >= QUIET_PASSES;
}

static int compare_told(const void *one, const void *other) {
  uint32_t left = ((const struct stood *)one)->told;
  uint32_t right = ((const struct stood *)other)->told;
  return left > right ? -1 : left < right;
}

void stand_release(struct stand *stand) {
  if (stand->count > 0) qsort(stand->rows, stand->count, sizeof *stand->rows, compare_told);
  for (size_t i = 0; i < stand->count && stand->rows[i].told > 0; i++) {
    struct process_status status;
    const struct stood *row = &stand->rows[i];
    if (read_process_status(row->pid, &status) && status.start_ticks == row->start_ticks) kill(row->pid, SIGCONT);
  }
  free(stand->rows);
  *stand = (struct stand){.rows = NULL};
}
