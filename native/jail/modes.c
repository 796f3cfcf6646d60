#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail.h"

/* A file system may block. The caller then gets EPERM. */
#define CALL_SECONDS 30u
#define LISTENER_FD 3
#define PROC_FD 4
#define FIRST_FREE_FD 5u

/* The kernel may know longer ones than the headers do. */
struct exchange {
  struct seccomp_notif *told;
  struct seccomp_notif_resp *answer;
  size_t told_bytes, answer_bytes;
  bool single_id;
};

static size_t larger(size_t one, size_t other) { return one > other ? one : other; }

static bool open_exchange(struct exchange *exchange) {
  struct seccomp_notif_sizes sizes;
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0u, &sizes) != 0) return false;
  exchange->told_bytes = larger(sizes.seccomp_notif, sizeof *exchange->told);
  exchange->answer_bytes = larger(sizes.seccomp_notif_resp, sizeof *exchange->answer);
  exchange->told = calloc(1, exchange->told_bytes);
  exchange->answer = calloc(1, exchange->answer_bytes);
  return exchange->told != NULL && exchange->answer != NULL;
}

/* A caller that was answered, or that has gone, takes no answer. */
static void send_answer(const struct exchange *exchange, int error) {
  exchange->answer->id = exchange->told->id;
  exchange->answer->error = -error;
  ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_SEND, exchange->answer);
}

/* While the caller waits, its id is valid: then what was read is the caller's, and not of a process that has its number now. */
static bool still_waits(const struct exchange *exchange) { return ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_ID_VALID, &exchange->told->id) == 0; }

static int carry_out(const struct exchange *exchange) {
  struct mode_call call;
  int error = read_caller(PROC_FD, exchange->told, &call);
  struct own_process own;
  if (!look_at_self(PROC_FD, &own) || !still_waits(exchange)) return EPERM;
  if (error == 0) error = become_caller(&call, exchange->single_id);
  return error != 0 ? error : change_mode(&call, &own);
}

static _Noreturn void serve_call(const struct exchange *exchange) {
  alarm(CALL_SECONDS);
  send_answer(exchange, carry_out(exchange));
  _exit(0);
}

/* One call at a time: however many threads call, there is one process more. It takes the caller's rights, so it serves no other call. */
static void serve_apart(const struct exchange *exchange) {
  pid_t pid = fork();
  if (pid == 0) serve_call(exchange);
  int error = pid < 0 ? errno : EPERM;
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  send_answer(exchange, error);
}

static bool receive(const struct exchange *exchange) {
  memset(exchange->told, 0, exchange->told_bytes); /* the kernel asks for that */
  memset(exchange->answer, 0, exchange->answer_bytes);
  return ioctl(LISTENER_FD, SECCOMP_IOCTL_NOTIF_RECV, exchange->told) == 0;
}

/* ENOENT: a signal or its end took the caller away. */
static _Noreturn void serve(struct exchange *exchange) {
  for (;;) {
    if (receive(exchange)) serve_apart(exchange);
    else if (errno != EINTR && errno != ENOENT) _exit(1);
  }
}

/* The folder /proc is opened before any program runs. */
static bool place_descriptors(int listener) {
  int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int high = fcntl(listener, F_DUPFD_CLOEXEC, (int)FIRST_FREE_FD);
  int higher = fcntl(proc, F_DUPFD_CLOEXEC, (int)FIRST_FREE_FD);
  if (high < 0 || higher < 0 || dup3(high, LISTENER_FD, O_CLOEXEC) < 0 || dup3(higher, PROC_FD, O_CLOEXEC) < 0) return false;
  return syscall(SYS_close_range, FIRST_FREE_FD, ~0u, 0u) == 0;
}

static _Noreturn void modes_child(int listener, bool single_id) {
  struct exchange exchange = {.single_id = single_id};
  if (!take_capabilities(permitted_capabilities()) || !place_descriptors(listener) || !open_exchange(&exchange)) _exit(1);
  serve(&exchange);
}

void start_modes(int listener, bool single_id) {
  if (listener >= 0 && fork() == 0) modes_child(listener, single_id);
  if (listener >= 0) close(listener);
  if (!take_capabilities(permitted_capabilities() & ~(1ull << LENT_CAPABILITY))) _exit(1);
}
