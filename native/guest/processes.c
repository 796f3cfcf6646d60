/* PROCESSES, SIGNAL_PROCESS and USAGE. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "loop.h"
#include "work.h"

#define COMMAND_BYTES 32768u
#define SIGNALS_MAX 64u
#define ROOM_BYTES 65536u

static uint32_t find_uid(pid_t pid) {
  char path[32];
  char text[2048];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  ssize_t length = read_file(path, text, sizeof text - 1);
  text[length < 0 ? 0 : length] = 0;
  const char *line = strstr(text, "\nUid:");
  return line == NULL ? UINT32_MAX : (uint32_t)strtoul(&line[5], NULL, 10);
}

/* The Unix time of the machine's start in ms. */
static int64_t boot_ms(void) {
  struct timespec wall;
  struct timespec boot;
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_BOOTTIME, &boot);
  return ((int64_t)wall.tv_sec - boot.tv_sec) * 1000 + (wall.tv_nsec - boot.tv_nsec) / 1000000;
}

/* The present arguments of the process. A process without arguments (a zombie, for example) shows its name in brackets.
   A very long list of arguments is cut, so that the row fits into a frame. */
static void put_command(struct field_writer *fields, const struct process_status *status) {
  char path[32];
  char text[COMMAND_BYTES];
  snprintf(path, sizeof path, "/proc/%d/cmdline", status->pid);
  ssize_t length = read_file(path, text, sizeof text - 1);
  size_t at = 0;
  while (length > 0 && at < (size_t)length) {
    size_t argument = strnlen(&text[at], (size_t)length - at);
    if (!has_room(fields, argument)) return;
    put_bytes(fields, TAG_ARG, &text[at], argument);
    at += argument + 1;
  }
  if (at > 0) return;
  snprintf(text, sizeof text, "[%s]", status->name);
  put_text(fields, TAG_ARG, text);
}

static void send_process(struct work *work, const struct process_status *status) {
  uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
  struct field_writer fields = work_fields(work);
  put_number(&fields, TAG_PID, (uint64_t)status->pid);
  put_number(&fields, TAG_PPID, (uint64_t)status->ppid);
  put_number(&fields, TAG_PGID, (uint64_t)status->pgid);
  put_number(&fields, TAG_SID, (uint64_t)status->sid);
  put_number(&fields, TAG_UID, find_uid(status->pid));
  put_number(&fields, TAG_MEMORY, status->memory_pages * (uint64_t)sysconf(_SC_PAGESIZE));
  put_number(&fields, TAG_CPU_US, status->cpu_ticks * 1000000u / ticks);
  put_number(&fields, TAG_STARTED_MS, (uint64_t)boot_ms() + status->start_ticks * 1000u / ticks);
  put_command(&fields, status);
  work_send(work, FRAME_ENTRY, &fields);
}

/* Calls `visit` for each process but this worker: it will be gone before the host can use its row. */
static void each_process(struct work *work, void (*visit)(struct work *work, const struct process_status *status, void *to), void *to) {
  DIR *folder = opendir("/proc");
  if (folder == NULL) work_fail(work, "list", "/proc");
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    pid_t pid = pid_of_name(entry->d_name);
    struct process_status status;
    if (pid > 0 && pid != getpid() && read_process_status(pid, &status)) visit(work, &status, to);
  }
  closedir(folder);
}

static void list_process(struct work *work, const struct process_status *status, void *to) {
  (void)to;
  send_process(work, status);
}

void serve_processes(struct work *work) {
  each_process(work, list_process, NULL);
  work_done(work, NULL);
}

void serve_signal_process(struct work *work) {
  const struct request *request = work->request;
  pid_t guest = getppid();
  if (request->signal > SIGNALS_MAX || request->pid > INT32_MAX) work_refuse(work, GUEST_ERROR_BAD_REQUEST, "no such signal or process id");
  pid_t pid = (pid_t)request->pid;
  char text[16];
  snprintf(text, sizeof text, "%d", pid);
  if (pid <= 1 || pid == guest) work_refuse(work, GUEST_ERROR_PERMISSION_DENIED, "the guest and PID 1 take no signals: end the sandbox with SHUTDOWN");
  if (has_flag(request, FLAG_WHOLE_GROUP)) {
    pid_t group = getpgid(pid);
    if (group < 0) work_fail(work, "signal the group of process", text);
    if (group <= 1 || group == getpgid(guest)) work_refuse(work, GUEST_ERROR_PERMISSION_DENIED, "the process is in the guest's own group");
    pid = -group;
  }
  if (kill(pid, (int)request->signal) != 0) work_fail(work, "signal process", text);
  work_done(work, NULL);
}

struct totals {
  uint32_t processes;
  uint64_t pages;
};

static void count_process(struct work *work, const struct process_status *status, void *to) {
  (void)work;
  struct totals *totals = to;
  totals->processes++;
  totals->pages += status->memory_pages;
}

/* A quota does not show in the counts of its file system, so this asks for room and gives it back. The file has no name. */
static bool is_disk_full(const struct statvfs *disk) {
  if (disk->f_blocks != 0 && (uint64_t)disk->f_bavail * disk->f_frsize < ROOM_BYTES) return true;
  int file = open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  bool refused = file < 0 || fallocate(file, 0, 0, (off_t)ROOM_BYTES) != 0;
  bool full = refused && (errno == ENOSPC || errno == EDQUOT);
  if (file >= 0) close(file);
  return full;
}

void serve_usage(struct work *work) {
  struct totals totals = {0, 0};
  each_process(work, count_process, &totals);
  struct statvfs disk;
  if (statvfs("/", &disk) != 0) work_fail(work, "measure", "/");
  struct field_writer fields = work_fields(work);
  put_number(&fields, TAG_PROCESSES_COUNT, totals.processes);
  put_number(&fields, TAG_MEMORY, totals.pages * (uint64_t)sysconf(_SC_PAGESIZE));
  put_number(&fields, TAG_DISK_USED, (disk.f_blocks - disk.f_bfree) * disk.f_frsize);
  put_number(&fields, TAG_DISK_TOTAL, disk.f_blocks * disk.f_frsize);
  put_number(&fields, TAG_DISK_FULL, is_disk_full(&disk));
  put_number(&fields, TAG_UPTIME_MS, (uint64_t)(now_us() - work->started_us) / 1000);
  work_done(work, &fields);
}
