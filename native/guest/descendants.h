/* The processes below this one, for a guest that is not PID 1. */
#ifndef BELLJAR_DESCENDANTS_H
#define BELLJAR_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat. */
struct process_status {
  pid_t pid;
  pid_t ppid;
  pid_t pgid;
  pid_t sid;
  char state;
  uint32_t threads;
  uint64_t cpu_ticks;
  uint64_t start_ticks;
  uint64_t memory_pages;
  char name[32];
};
bool read_process_status(pid_t pid, struct process_status *status);
/* The same of one of its threads. */
bool read_thread_status(pid_t pid, pid_t thread, struct process_status *status);
/* Parses a name in /proc. 0: the name is not a process. */
pid_t pid_of_name(const char *name);

void signal_descendants(int number);

#endif
