/*
 * Does the jobs on layers of a large host process: a fork of that process costs more than most of the jobs. Each job is a process of its
 * own, so that one can be killed and others go on. Frames on standard input and output; the channel is the number of a job, which is free
 * again once its end was told:
 *
 *     from the host   DATA    a part of the job's specification
 *                     END     that was all of it: the job begins
 *                     SIGNAL  the job is killed
 *     to the host     DATA    what it printed
 *                     EVENT   what it said on standard error
 *                     REPLY   it has ended: its exit code, or 128 and the signal
 *
 * When the host has gone, this process ends, and a job does when it next prints.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "layers.h"

#define SPEC_MAX (HEAD_BYTES + FIELDS_MAX_BYTES)
#define JOBS_MAX 256u
#define OUTPUTS 2u
#define TEXT_BYTES 4096u

struct job {
  uint8_t *spec; /* what has come of it */
  size_t length;
  pid_t pid; /* 0: it has not begun */
  int outputs[OUTPUTS]; /* what it prints, and what it says; -1: closed */
};

static const struct job NO_JOB = {.outputs = {-1, -1}};
/* One table in each process. */
static struct job jobs[JOBS_MAX];
static const uint8_t OUTPUT_FRAMES[OUTPUTS] = {FRAME_DATA, FRAME_EVENT};

static void tell(uint8_t number, uint8_t type, const void *payload, size_t length) {
  struct frame_header header = {.type = type, .channel = number, .length = (uint32_t)length};
  if (!send_frame(STDOUT_FILENO, header, payload)) _exit(EXIT_SUCCESS);
}

/* ---- the job ---- */

static _Noreturn void do_job(const struct job *job, const int outputs[OUTPUTS]) {
  struct head head;
  sigset_t none;
  sigemptyset(&none);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the host's requests are not the job's */
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(outputs[0], STDOUT_FILENO) < 0 || dup2(outputs[1], STDERR_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0u, 0) < 0) _exit(EXIT_FAILURE);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_NAME, "belljar-layers", 0, 0, 0);
  if (job->length < HEAD_BYTES || parse_head(job->spec, &head) != HEAD_OK || head.length != job->length - HEAD_BYTES) refuse("not a specification of this version");
  _exit(run_layer_job((struct spec_bytes){.bytes = job->spec + HEAD_BYTES, .length = head.length}));
}

static void close_all(const int fds[OUTPUTS]) {
  for (unsigned i = 0; i < OUTPUTS; i++)
    if (fds[i] >= 0) close(fds[i]);
}

static bool open_outputs(int ours[OUTPUTS], int theirs[OUTPUTS]) {
  for (unsigned i = 0; i < OUTPUTS; i++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return false;
    ours[i] = ends[0];
    theirs[i] = ends[1];
    if (fcntl(ours[i], F_SETFL, O_NONBLOCK) < 0) return false;
  }
  return true;
}

static void forget(struct job *job) {
  close_all(job->outputs);
  free(job->spec);
  *job = NO_JOB;
}

static void tell_end(uint8_t number, uint32_t code) {
  uint8_t bytes[4];
  put_u32(bytes, code);
  forget(&jobs[number]);
  tell(number, FRAME_REPLY, bytes, sizeof bytes);
}

static void fail(uint8_t number, const char *what) {
  const char *why = strerror(errno);
  tell(number, FRAME_EVENT, what, strlen(what));
  tell(number, FRAME_EVENT, why, strlen(why));
  tell_end(number, EXIT_FAILURE);
}

static void begin(uint8_t number) {
  struct job *job = &jobs[number];
  int theirs[OUTPUTS] = {-1, -1};
  pid_t pid = open_outputs(job->outputs, theirs) ? fork() : -1;
  if (pid == 0) do_job(job, theirs);
  int error = errno;
  close_all(theirs);
  errno = error;
  if (pid < 0) fail(number, "start a job on layers: ");
  else job->pid = pid;
}

/* ---- the host ---- */

static void take_part(struct job *job, size_t length) {
  uint8_t *grown = job->length + length > SPEC_MAX ? NULL : realloc(job->spec, job->length + length + 1);
  if (grown == NULL) refuse("a specification is too long");
  job->spec = grown;
  if (!read_whole(STDIN_FILENO, job->spec + job->length, length)) _exit(EXIT_SUCCESS);
  job->length += length;
}

static void hear_host(void) {
  uint8_t bytes[FRAME_HEADER_BYTES];
  struct frame_header header;
  if (!read_whole(STDIN_FILENO, bytes, sizeof bytes)) _exit(EXIT_SUCCESS);
  if (!parse_frame_header(bytes, &header)) refuse("not a frame of this version");
  struct job *job = &jobs[header.channel];
  if (header.type == FRAME_DATA && job->pid == 0) take_part(job, header.length);
  else if (header.type == FRAME_END && job->pid == 0) begin(header.channel);
  else if (header.type == FRAME_SIGNAL && read_whole(STDIN_FILENO, bytes, 4)) {
    if (job->pid > 0) kill(job->pid, SIGKILL); /* not reaped yet, so the number is still this job's */
  } else refuse("a frame that no job awaits");
}

/* ---- what it says, and its end ---- */

/* False: there is no more now. */
static bool relay(uint8_t number, unsigned output) {
  struct job *job = &jobs[number];
  uint8_t text[TEXT_BYTES];
  ssize_t length = job->outputs[output] < 0 ? 0 : read(job->outputs[output], text, sizeof text);
  if (length > 0) tell(number, OUTPUT_FRAMES[output], text, (size_t)length);
  if (length == 0 && job->outputs[output] >= 0) {
    close(job->outputs[output]);
    job->outputs[output] = -1;
  }
  return length > 0;
}

static void end_job(pid_t pid, int status) {
  for (unsigned number = 0; number < JOBS_MAX; number++) {
    if (jobs[number].pid != pid) continue;
    for (unsigned output = 0; output < OUTPUTS; output++)
      while (relay((uint8_t)number, output)) continue;
    tell_end((uint8_t)number, WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 128u + (uint32_t)WTERMSIG(status));
    return;
  }
}

static void reap(int ended) {
  struct signalfd_siginfo ignored;
  pid_t pid;
  int status;
  while (read(ended, &ignored, sizeof ignored) > 0) continue;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) end_job(pid, status);
}

static int open_ends(void) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &children, NULL) < 0) die("hold back signals");
  int ended = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ended < 0) die("hear of jobs that end");
  return ended;
}

int jobs_main(void) {
  int ended = open_ends();
  signal(SIGPIPE, SIG_IGN);
  for (unsigned i = 0; i < JOBS_MAX; i++) jobs[i] = NO_JOB;
  for (;;) {
    struct pollfd fds[2 + JOBS_MAX * OUTPUTS] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
    for (unsigned i = 0; i < JOBS_MAX * OUTPUTS; i++) fds[2 + i] = (struct pollfd){.fd = jobs[i / OUTPUTS].outputs[i % OUTPUTS], .events = POLLIN};
    if (poll(fds, sizeof fds / sizeof fds[0], -1) < 0 && errno != EINTR) die("wait for jobs");
    for (unsigned i = 0; i < JOBS_MAX * OUTPUTS; i++)
      if (fds[2 + i].revents != 0) relay((uint8_t)(i / OUTPUTS), i % OUTPUTS);
    if (fds[1].revents != 0) reap(ended);
    if (fds[0].revents != 0) hear_host();
  }
}
