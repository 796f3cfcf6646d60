#include "answers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answering.h"
#include "modes.h"
#include "renames.h"

/* A file system may block. What still works after this time is killed. */
#define CALL_SECONDS 30u
#define GRACE_SECONDS 5
/* A process that was killed is followed by one that takes back what it left. That may be killed too. */
#define TRIES_MAX 4u
/* Calls that wait for a process. While there is no room, calls of chmod wait in the kernel, and the kernel goes on with renames. */
#define QUEUE_MAX 64u
#define STACK_BYTES (1u << 20)
#define LISTENER_FD 3
#define PROC_FD 4
#define LOWER_FD 5
#define FIRST_FREE_FD 6u

/* From Linux 6.6: the caller and the thread take turns on one processor. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1ul

/* One process works at a time: however many threads call, there is one process more. It takes the caller's rights, so it serves no other. */
struct job {
  struct seccomp_notif told;
  struct call caller;
  pid_t pid;
  int result; /* a pipe: an errno, or only the end if the process was killed. -1: no job */
  unsigned place, tries;
  time_t until;
  int kept; /* the thread's end of a pair of sockets, or -1 */
  struct pair folders;
};

/* The kernel may know longer messages than the headers do. */
static struct server {
  struct seccomp_options options;
  struct copied_folders copied;
  int listener;
  sem_t is_given, is_taken;
  bool serves;
  struct seccomp_notif *told;
  struct seccomp_notif_resp *answer;
  size_t told_bytes, answer_bytes;
  struct seccomp_notif queue[QUEUE_MAX];
  unsigned first, count;
  struct job job;
} server = {.job = {.result = -1, .kept = -1, .folders = {.from = -1, .to = -1}}};

static size_t larger(size_t one, size_t other) { return one > other ? one : other; }

static bool open_exchange(void) {
  struct seccomp_notif_sizes sizes;
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0u, &sizes) != 0) return false;
  server.told_bytes = larger(sizes.seccomp_notif, sizeof *server.told);
  server.answer_bytes = larger(sizes.seccomp_notif_resp, sizeof *server.answer);
  server.told = calloc(1, server.told_bytes);
  server.answer = calloc(1, server.answer_bytes);
  return server.told != NULL && server.answer != NULL;
}

/* A caller that has gone takes no answer. */
static void send_answer(const struct seccomp_notif *told, int error) {
  bool goes_on = is_rename(&told->data);
  memset(server.answer, 0, server.answer_bytes);
  server.answer->id = told->id;
  server.answer->error = goes_on ? 0 : -error;
  server.answer->flags = goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
  ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_SEND, server.answer);
}

/* While the caller waits, its id is valid: then what was read is the caller's, and not of a process that has its number now. */
static bool still_waits(const struct seccomp_notif *told) { return ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_ID_VALID, &told->id) == 0; }

static int carry_out(const struct job *job, int channel) {
  struct own_process own;
  bool renames = is_rename(&job->told.data);
  if (!renames && !look_at_self(PROC_FD, &own)) return EPERM;
  int error = become_caller(&job->caller, server.options.single_id);
  if (error != 0) return error;
  if (!renames) return change_mode(&job->caller, &own);
  struct kept_folders kept = {.channel = channel, .restores = job->tries > 1, .pair = job->folders};
  prepare_rename(&job->caller, &server.copied, job->told.id, &kept);
  return 0;
}

/* Only its time ends it by itself: a signal to all programs does not stop it in the middle. */
static _Noreturn void work(const struct job *job, int result, int channel) {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarms, NULL);
  alarm(CALL_SECONDS);
  if (server.copied.lower >= 0) close(LOWER_FD); /* what has the caller's rights has no folder of the host */
  int error = carry_out(job, channel);
  _exit(write(result, &error, sizeof error) == sizeof error ? 0 : 1);
}

static time_t now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static void drop_folders(struct job *job) {
  close_pair(&job->folders);
  if (job->kept >= 0) close(job->kept);
  job->folders.from = job->folders.to = job->kept = -1;
}

/* Only once the process has ended, and with it the other end. */
static void take_folders(struct job *job) {
  int folders[2];
  if (job->kept < 0 || job->folders.to >= 0 || receive_word(job->kept, WORD_FOLDERS, folders, 2) != 2) return;
  job->folders.from = folders[0];
  job->folders.to = folders[1];
}

/* Returns 0 or an errno. */
static int start_work(struct job *job) {
  int ends[2], channel[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  if (job->tries == 0 && is_rename(&job->told.data) && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == 0) job->kept = channel[0];
  job->tries++;
  job->pid = fork();
  if (job->pid == 0) {
    close(ends[0]);
    work(job, ends[1], channel[1]);
  }
  int error = errno;
  close(ends[1]);
  if (channel[1] >= 0) close(channel[1]);
  if (job->pid < 0) close(ends[0]);
  else job->result = ends[0];
  job->until = now_seconds() + CALL_SECONDS + GRACE_SECONDS;
  return job->pid < 0 ? error : 0;
}

static void end_job(struct job *job, int error) {
  drop_folders(job);
  close_caller(&job->caller);
  finish_answer();
  send_answer(&job->told, error);
}

static void start_place(struct job *job, unsigned number) {
  bool renames = is_rename(&job->told.data);
  struct place place = renames ? rename_place(&job->told.data, number) : mode_place(&job->told.data);
  drop_folders(job);
  job->place = number;
  job->tries = 0;
  int error = read_caller(PROC_FD, &job->told, place, &job->caller);
  if (!still_waits(&job->told)) error = EPERM;
  if (error == 0) error = start_work(job);
  if (error != 0) end_job(job, error);
}

static void start_next(void) {
  while (server.job.result < 0 && server.count > 0) {
    begin_answer();
    server.job.told = server.queue[server.first];
    server.first = (server.first + 1) % QUEUE_MAX;
    server.count--;
    start_place(&server.job, 0);
  }
}

static void finish_work(struct job *job) {
  int error = EPERM;
  bool was_killed = read(job->result, &error, sizeof error) != sizeof error, renames = is_rename(&job->told.data);
  close(job->result);
  job->result = -1;
  kill(job->pid, SIGKILL); /* it has no more to do, and may have been stopped */
  while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR) continue;
  if (was_killed && renames) take_folders(job);
  if (was_killed && renames && job->tries < TRIES_MAX && start_work(job) == 0) return;
  if (renames && job->place + 1 < rename_place_count(&job->told.data)) {
    close_caller(&job->caller);
    start_place(job, job->place + 1);
    return;
  }
  end_job(job, was_killed ? EPERM : error);
}

static bool receive(void) {
  memset(server.told, 0, server.told_bytes); /* the kernel asks for that */
  return ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_RECV, server.told) == 0;
}

/* ENOENT: a signal or its end took the caller away. */
static void take_call(void) {
  if (!receive()) return;
  bool renames = is_rename(&server.told->data), has_room = server.count + 1 < QUEUE_MAX;
  if (renames && (!has_room || !is_worth_a_look(PROC_FD, server.told, &server.copied))) {
    send_answer(server.told, 0);
    return;
  }
  server.queue[(server.first + server.count++) % QUEUE_MAX] = *server.told;
}

/* A process that has stopped does not feel its own time. */
static int time_left(struct job *job) {
  if (job->result < 0) return -1;
  time_t left = job->until - now_seconds();
  if (left > 0) return (int)left * 1000;
  kill(job->pid, SIGKILL);
  job->until = now_seconds() + GRACE_SECONDS;
  return GRACE_SECONDS * 1000;
}

static _Noreturn void serve(void) {
  for (;;) {
    struct pollfd fds[] = {{.fd = server.count < QUEUE_MAX ? LISTENER_FD : -1, .events = POLLIN}, {.fd = server.job.result, .events = POLLIN}};
    if (poll(fds, 2, time_left(&server.job)) < 0) continue;
    if (fds[1].revents != 0) finish_work(&server.job);
    if ((fds[0].revents & POLLIN) != 0) take_call();
    start_next();
  }
}

/* The folder /proc is opened before any program runs. */
static bool place_descriptors(void) {
  int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int high = fcntl(server.listener, F_DUPFD_CLOEXEC, (int)FIRST_FREE_FD);
  int higher = fcntl(proc, F_DUPFD_CLOEXEC, (int)FIRST_FREE_FD);
  int lower = server.copied.lower < 0 ? -1 : fcntl(server.copied.lower, F_DUPFD_CLOEXEC, (int)FIRST_FREE_FD);
  if (high < 0 || higher < 0 || dup3(high, LISTENER_FD, O_CLOEXEC) < 0 || dup3(higher, PROC_FD, O_CLOEXEC) < 0) return false;
  if (lower >= 0 && dup3(lower, LOWER_FD, O_CLOEXEC) < 0) return false;
  server.copied.lower = lower < 0 ? -1 : LOWER_FD;
  return syscall(SYS_close_range, lower < 0 ? (unsigned)LOWER_FD : FIRST_FREE_FD, ~0u, 0u) == 0;
}

/* It and its processes have the same filter without the listener: what they call is told to nobody. */
static void *run_thread(void *unused) {
  while (sem_wait(&server.is_given) != 0) continue;
  if (server.listener >= 0) {
    server.serves = unshare(CLONE_FILES | CLONE_FS) == 0 && place_descriptors() && take_capabilities(permitted_capabilities()) && open_exchange();
    if (server.serves) install_seccomp(server.options, false);
  }
  bool serves = server.serves;
  sem_post(&server.is_taken);
  if (!serves) return unused;
  ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
  serve();
}

/* Signals are for the first thread. */
static bool start_thread(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0) return false;
  if (pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) != 0 || sigprocmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = pthread_create(&thread, &attributes, run_thread, NULL) == 0;
  sigprocmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return started;
}

/* The thread is there before the filter, which is of the calling thread alone. */
static void start_answers(void) {
  if (sem_init(&server.is_given, 0, 0) != 0 || sem_init(&server.is_taken, 0, 0) != 0 || !start_thread()) _exit(1);
  server.listener = install_seccomp(server.options, true);
  sem_post(&server.is_given);
  while (sem_wait(&server.is_taken) != 0) continue;
  if (server.listener < 0) return;
  close(server.listener);
  if (!server.serves) _exit(1);
}

/* Programs with filters of their own are judged without a listener: the kernel asks the newest filter first, and it may let a call go on. */
void confine_guest(struct seccomp_options options, const struct copied_folders *copied) {
  server.options = options;
  server.copied = *copied;
  bool listens = (options.shares_folder || options.copies_folder) && !options.nested_filters;
  if (listens) start_answers();
  else install_seccomp(options, false);
  if (copied->lower >= 0) close(copied->lower); /* the thread has its own */
  if (!take_capabilities(permitted_capabilities() & ~(1ull << LENT_CAPABILITY))) _exit(1);
}
