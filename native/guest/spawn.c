#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "guest.h"
#include "inside.h"
#include "io.h"
#include "rights.h"
#include "users.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define DEFAULTS_MAX 6u

__attribute__((format(printf, 4, 5))) static _Noreturn void fail(const struct spawn *spawn, uint16_t code, int error, const char *format, ...) {
  char text[ERROR_TEXT_BYTES];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  reply_error(spawn->status_fd, code, error, text);
  _exit(127);
}

static _Noreturn void fail_step(const struct spawn *spawn, const char *step) {
  int error = errno;
  fail(spawn, code_of_errno(error), error, "%s: %s", step, strerror(error));
}

bool reset_signals(void) {
  struct sigaction standard = {.sa_handler = SIG_DFL};
  /* The keeper ignores some signals. execve would keep them ignored, and a shell could not trap them. */
  for (int number = 1; number < SIGSYS + 1; number++)
    if (number != SIGKILL && number != SIGSTOP && sigaction(number, &standard, NULL) != 0) return false;
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static bool write_oom_score(const char *score) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool written = write_whole(fd, score, strlen(score));
  int error = errno;
  close(fd);
  errno = error;
  return written;
}

/* Makes this child die before the guest when memory runs out. False with errno set. */
static bool set_oom_score(const char *score) {
  if (write_oom_score(score)) return true;
  if (errno != EACCES) return false;
  /*
   * The files in /proc of a non-dumpable process belong to the host's root, so this child becomes dumpable first. It still has the
   * guest's memory. The guest's mark (rights.h) keeps programs with the same ids from tracing it meanwhile.
   */
  if (prctl(PR_SET_DUMPABLE, 1L, 0L, 0L, 0L) != 0) return false;
  bool written = write_oom_score(score);
  int error = errno;
  if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) != 0) return false;
  errno = error;
  return written;
}

/*
 * Puts the descriptors at 0, 1, 2 and so on. All are first moved out of the way, since one may stand where another belongs. All other
 * descriptors are closed here and not by execve: the child becomes dumpable before (set_oom_score).
 */
static void place_descriptors(struct spawn *spawn) {
  int first_free = (int)spawn->descriptor_count;
  spawn->status_fd = fcntl(spawn->status_fd, F_DUPFD_CLOEXEC, first_free);
  if (spawn->status_fd < 0) _exit(127);
  if (spawn->programs > 0) spawn->programs = fcntl(spawn->programs, F_DUPFD_CLOEXEC, first_free + 1);
  if (spawn->programs < 0) fail_step(spawn, "move a descriptor");
  for (size_t i = 0; i < spawn->descriptor_count; i++) {
    int fd = spawn->descriptors[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : spawn->descriptors[i];
    if (fd < 0) fail_step(spawn, "open /dev/null");
    spawn->descriptors[i] = fcntl(fd, F_DUPFD_CLOEXEC, first_free);
    if (spawn->descriptors[i] < 0) fail_step(spawn, "move a descriptor");
  }
  for (size_t i = 0; i < spawn->descriptor_count; i++) {
    if (dup2(spawn->descriptors[i], (int)i) < 0) fail_step(spawn, "place a descriptor");
  }
  if (spawn->status_fd != first_free && dup3(spawn->status_fd, first_free, O_CLOEXEC) < 0) fail_step(spawn, "move a descriptor");
  spawn->status_fd = first_free;
  int last = spawn->programs > 0 ? first_free + 1 : first_free;
  if (spawn->programs > last && dup3(spawn->programs, last, O_CLOEXEC) < 0) fail_step(spawn, "move a descriptor");
  if (spawn->programs > last) spawn->programs = last;
  if (close_range((unsigned)last + 1, UINT_MAX, 0) != 0) fail_step(spawn, "close the guest's descriptors");
}

/* Even during a fork bomb the guest must be able to serve files and to start the command that ends the bomb. */
static void leave_room_for_guest(const struct spawn *spawn) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) fail_step(spawn, "read the limit of processes");
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max <= GUEST_RESERVED_PROCESSES) return;
  limit.rlim_cur = limit.rlim_max -= GUEST_RESERVED_PROCESSES;
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) fail_step(spawn, "limit the processes");
}

/* A client of sudo keeps its own streams. Only the terminal was made for the command. */
static bool is_ours(const struct spawn *spawn, size_t index) {
  if (spawn->lender != 0) return spawn->terminal && index + 1 == spawn->descriptor_count;
  struct stat status;
  return index < 3 && fstat((int)index, &status) == 0 && (S_ISFIFO(status.st_mode) || spawn->terminal);
}

/*
 * Before, the real id alone changes. The kernel counts a process for its real id, and forbids it execve if a change of that id finds a
 * count full. So a command starts also when the programs have as many processes as they may have.
 */
static bool leave_guest(const struct spawn *spawn, const struct user *user) {
  if (spawn->programs == 0) return true;
  if (setresuid(user->uid, (uid_t)-1, (uid_t)-1) != 0 || !enter_programs(spawn->programs)) return false;
  close(spawn->programs);
  return true;
}

static const char *name_user(const struct spawn *spawn) {
  if (spawn->request->user != NULL) return spawn->request->user;
  return spawn->lender != 0 ? INSIDE_ROOT : default_user(spawn->options);
}

static void take_user(const struct spawn *spawn, struct user *user) {
  const char *name = name_user(spawn);
  const char *wrong = find_user(name, user);
  if (wrong != NULL) fail(spawn, GUEST_ERROR_UNKNOWN_USER, 0, "no user \"%.300s\": %s", name, wrong);
  if (spawn->options->no_root && user->uid == INSIDE_ROOT_ID) fail(spawn, GUEST_ERROR_UNKNOWN_USER, 0, "no command runs as root in this sandbox: it was made with root off");
  /* A program that opens /dev/stdout needs the right to the pipe itself. */
  for (size_t i = 0; !spawn->options->single_id && (user->uid != 0 || spawn->lender != 0) && i < spawn->descriptor_count; i++) {
    if (is_ours(spawn, i) && fchown((int)i, user->uid, user->gid) != 0) fail_step(spawn, "hand the standard streams to the user");
  }
  if (!leave_guest(spawn, user)) fail_step(spawn, "enter the user namespace of programs");
  if (!become_user(user, spawn->options->single_id)) fail_step(spawn, "become the user");
}

/* Without its lender nobody could end the command. A change of ids clears the death signal, so it is set after the last one. */
static void follow_lender(const struct spawn *spawn) {
  if (spawn->lender == 0) return;
  if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0) fail_step(spawn, "tie the command to sudo");
  if (getppid() != spawn->lender) _exit(127);
}

/* The terminal of a client of sudo has no other use than to be the command's controlling terminal. */
static void close_lent_terminal(const struct spawn *spawn) {
  if (spawn->lender != 0 && spawn->terminal) close((int)spawn->descriptor_count - 1);
}

static void enter_folder(const struct spawn *spawn, const struct user *user) {
  const char *cwd = spawn->request->cwd;
  if (!enter_start_folder(user, spawn->options->start_folder)) fail_step(spawn, "enter /");
  if (cwd == NULL || chdir(cwd) == 0) return;
  int error = errno;
  fail(spawn, code_of_errno(error), error, "enter the working folder %s: %s", cwd, strerror(error));
}

static bool sets(const struct text_list *env, const char *entry) {
  size_t length = strcspn(entry, "=") + 1;
  for (size_t i = 0; i < env->count; i++) {
    if (strncmp(env->items[i], entry, length) == 0) return true;
  }
  return false;
}

/* The environment of the request, followed by the defaults that it does not set. */
static char **build_environment(const struct spawn *spawn, const struct user *user) {
  static char texts[DEFAULTS_MAX][sizeof user->home + 16];
  const struct text_list *env = &spawn->request->env;
  char **environment = calloc(env->count + DEFAULTS_MAX + 1, sizeof *environment);
  if (environment == NULL) fail_step(spawn, "build the environment");
  size_t count = 0;
  for (; count < env->count; count++) environment[count] = env->items[count];
  snprintf(texts[0], sizeof texts[0], "HOME=%s", user->home);
  snprintf(texts[1], sizeof texts[1], "USER=%s", user->name);
  snprintf(texts[2], sizeof texts[2], "LOGNAME=%s", user->name);
  snprintf(texts[3], sizeof texts[3], "SHELL=%s", user->shell);
  snprintf(texts[4], sizeof texts[4], "PATH=%s", DEFAULT_PATH);
  snprintf(texts[5], sizeof texts[5], "TERM=xterm-256color");
  for (size_t i = 0; i < (spawn->terminal ? DEFAULTS_MAX : DEFAULTS_MAX - 1); i++) {
    if (!sets(env, texts[i])) environment[count++] = texts[i];
  }
  return environment;
}

static const char *find_path(char *const *environment) {
  for (; *environment != NULL; environment++) {
    if (strncmp(*environment, "PATH=", 5) == 0) return &(*environment)[5];
  }
  return DEFAULT_PATH;
}

/* Tries the next folder only if this one has no such file. Returns the most telling error. */
static int try_path(char *const *argv, char *const *environment) {
  const char *path = find_path(environment);
  int result = ENOENT;
  for (;;) {
    size_t length = strcspn(path, ":");
    char candidate[PATH_MAX];
    int written = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, path, length == 0 ? "" : "/", argv[0]);
    if (length < PATH_MAX && written > 0 && (size_t)written < sizeof candidate) {
      execve(candidate, argv, environment);
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return errno;
      if (errno == EACCES || access(candidate, F_OK) == 0) result = errno == EACCES ? EACCES : ENOEXEC;
    }
    if (path[length] == 0) return result;
    path = &path[length + 1];
  }
}

static _Noreturn void fail_exec(const struct spawn *spawn, int error) {
  const char *name = spawn->request->args.items[0];
  bool there = strchr(name, '/') != NULL && access(name, F_OK) == 0;
  if (error == ENOENT && there) fail(spawn, GUEST_ERROR_NOT_EXECUTABLE, error, "run %s: the interpreter or loader that it names is not there", name);
  if (error == ENOENT || (error == ENOTDIR && !there)) fail(spawn, GUEST_ERROR_COMMAND_NOT_FOUND, error, "run %s: no such command", name);
  if (error == EACCES || error == ENOEXEC || error == EPERM) fail(spawn, GUEST_ERROR_NOT_EXECUTABLE, error, "run %s: %s", name, strerror(error));
  if (error == E2BIG) fail(spawn, GUEST_ERROR_BAD_REQUEST, error, "run %s: the arguments and the environment are too long, or one of them is over 128 KiB", name);
  fail(spawn, code_of_errno(error), error, "run %s: %s", name, strerror(error));
}

_Noreturn void spawn_child(const struct spawn *given) {
  struct spawn spawn = *given;
  place_descriptors(&spawn);
  if (setsid() < 0) fail_step(&spawn, "start a session");
  if (spawn.terminal && ioctl(spawn.lender == 0 ? 0 : (int)spawn.descriptor_count - 1, TIOCSCTTY, 0) != 0) fail_step(&spawn, "take the terminal");
  if (!reset_signals()) fail_step(&spawn, "reset the signals");
  if (!set_oom_score(spawn.oom_score)) fail_step(&spawn, "set oom_score_adj");
  leave_room_for_guest(&spawn);
  struct user user;
  take_user(&spawn, &user);
  follow_lender(&spawn);
  close_lent_terminal(&spawn);
  enter_folder(&spawn, &user);
  char **argv = spawn.request->args.items;
  char **environment = build_environment(&spawn, &user);
  if (argv[0][0] == 0) fail_exec(&spawn, ENOENT);
  if (strchr(argv[0], '/') == NULL) fail_exec(&spawn, try_path(argv, environment));
  execve(argv[0], argv, environment);
  fail_exec(&spawn, errno);
}
