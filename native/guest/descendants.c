#include "descendants.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"

#define ANCESTORS_MAX 64

pid_t pid_of_name(const char *name) {
  size_t length = strspn(name, "0123456789");
  if (length == 0 || length > 9 || name[length] != 0) return 0;
  return (pid_t)strtol(name, NULL, 10);
}

static bool read_status(const char *path, struct process_status *status) {
  char text[1024];
  ssize_t length = read_file(path, text, sizeof text - 1);
  if (length <= 0) return false;
  text[length] = 0;
  /* The name stands in parentheses and may contain parentheses. The last `)` ends it. */
  char *opening = strchr(text, '(');
  char *closing = strrchr(text, ')');
  if (opening == NULL || closing == NULL || closing < opening) return false;
  snprintf(status->name, sizeof status->name, "%.*s", (int)(closing - opening - 1), &opening[1]);
  unsigned long long user = 0;
  unsigned long long system = 0;
  unsigned long long start = 0;
  long long resident = 0;
  int found = sscanf(&closing[1], " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %u %*d %llu %*u %lld", &status->state, &status->ppid,
                     &status->pgid, &status->sid, &user, &system, &status->threads, &start, &resident);
  status->cpu_ticks = user + system;
  status->start_ticks = start;
  status->memory_pages = resident > 0 ? (uint64_t)resident : 0;
  return found == 9;
}

bool read_process_status(pid_t pid, struct process_status *status) {
  char path[32];
  memset(status, 0, sizeof *status);
  status->pid = pid;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  return read_status(path, status);
}

bool read_thread_status(pid_t pid, pid_t thread, struct process_status *status) {
  char path[48];
  memset(status, 0, sizeof *status);
  status->pid = thread;
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, thread);
  return read_status(path, status);
}

static bool descends_from(pid_t pid, pid_t ancestor) {
  struct process_status status;
  for (int i = 0; i < ANCESTORS_MAX && read_process_status(pid, &status); i++) {
    if (status.ppid == ancestor) return true;
    if (status.ppid <= 1) return false;
    pid = status.ppid;
  }
  return false;
}

void signal_descendants(int number) {
  DIR *folder = opendir("/proc");
  if (folder == NULL) return;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    pid_t pid = pid_of_name(entry->d_name);
    if (pid > 1 && descends_from(pid, getpid())) kill(pid, number);
  }
  closedir(folder);
}
