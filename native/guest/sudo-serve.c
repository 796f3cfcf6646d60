/* One client of sudo: reads what it asks for, starts the command with the client's own streams, and ends it when the client goes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"
#include "io.h"
#include "loop.h"
#include "pairs.h"
#include "spawn.h"
#include "sudo-door.h"
#include "sudo-request.h"
#include "sudo.h"
#include "users.h"

#define CLIENT_FD 3
#define PROGRAMS_FD 4
/* A client that has not sent its request by then is dropped. */
#define REQUEST_SECONDS 5u

struct lent {
  struct request request;
  int descriptors[SUDO_DESCRIPTORS_MAX];
  size_t descriptor_count;
  /* As in exec.c: a pipe from the child, which carries an ERROR frame when the command cannot be started. */
  int status;
  bool failed;
  /* A signalfd for the end of the child. */
  int ended;
  pid_t pid;
  uint8_t signal[SUDO_SIGNAL_BYTES];
  size_t signal_length;
};

static _Noreturn void refuse(uint16_t code, int error, const char *text) {
  (void)reply_error(CLIENT_FD, code, error, text);
  _exit(1);
}

/* The guest's signals are for the guest. Those that end all commands wait here for the command's own end, to tell it. */
static bool take_signals(struct lent *lent) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (!reset_signals() || sigprocmask(SIG_BLOCK, &child, NULL) != 0) return false;
  const int ignored[] = {SIGTERM, SIGHUP, SIGINT, SIGPIPE};
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
    if (signal(ignored[i], SIG_IGN) == SIG_ERR) return false;
  lent->ended = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  return lent->ended >= 0;
}

static bool is_own_user(const struct guest_options *options, uid_t uid) {
  struct user user;
  if (options->user == NULL) return uid == INSIDE_USER_ID;
  return find_user(options->user, &user) == NULL && user.uid == uid;
}

/* The kernel says who asks: no client can claim to be another user. */
static void check_peer(const struct guest_options *options) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(CLIENT_FD, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || length != sizeof peer) _exit(1);
  if (peer.uid == INSIDE_ROOT_ID || is_own_user(options, peer.uid)) return;
  refuse(GUEST_ERROR_PERMISSION_DENIED, 0, "only root and the sandbox's own user may use sudo here");
}

/* The descriptors come with the first byte. False: the client has gone, or sends too many. */
static bool receive_head(struct lent *lent, uint8_t head[HEAD_BYTES]) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(SUDO_DESCRIPTORS_MAX * sizeof(int))];
  } control;
  struct iovec data = {.iov_base = head, .iov_len = HEAD_BYTES};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t count = recvmsg(CLIENT_FD, &message, MSG_CMSG_CLOEXEC);
  if (count <= 0 || (message.msg_flags & MSG_CTRUNC) != 0) return false;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    lent->descriptor_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (lent->descriptor_count > SUDO_DESCRIPTORS_MAX) return false;
    memcpy(lent->descriptors, CMSG_DATA(header), lent->descriptor_count * sizeof(int));
  }
  return (size_t)count == HEAD_BYTES || read_whole(CLIENT_FD, &head[count], HEAD_BYTES - (size_t)count);
}

static void receive_request(struct lent *lent) {
  uint8_t bytes[HEAD_BYTES];
  struct head head;
  alarm(REQUEST_SECONDS);
  if (!receive_head(lent, bytes) || parse_head(bytes, &head) != HEAD_OK) refuse(GUEST_ERROR_BAD_REQUEST, 0, "this is no request of sudo");
  uint8_t *fields = malloc(head.length + 1u);
  if (fields == NULL) refuse(GUEST_ERROR_TOO_MANY, ENOMEM, "no memory for the request");
  if (!read_whole(CLIENT_FD, fields, head.length)) _exit(1);
  alarm(0);
  const char *wrong = parse_sudo_request(&lent->request, head.operation, fields, head.length, lent->descriptor_count);
  if (wrong != NULL) refuse(GUEST_ERROR_BAD_REQUEST, 0, wrong);
}

static void start(struct lent *lent, const struct loop *loop) {
  struct pair status;
  if (!open_pipe(&status, true)) refuse(GUEST_ERROR_TOO_MANY, errno, "open a pipe");
  struct spawn spawn = {.request = &lent->request,
                        .descriptor_count = lent->descriptor_count,
                        .terminal = has_flag(&lent->request, FLAG_TERMINAL),
                        .options = loop->options,
                        .programs = loop->options->programs > 0 ? PROGRAMS_FD : 0,
                        .lender = getpid(),
                        .oom_score = loop->child_oom_score,
                        .status_fd = status.theirs};
  memcpy(spawn.descriptors, lent->descriptors, lent->descriptor_count * sizeof(int));
  lent->pid = fork();
  if (lent->pid == 0) spawn_child(&spawn);
  if (lent->pid < 0) refuse(GUEST_ERROR_TOO_MANY, errno, "the sandbox has no room for another process");
  close(status.theirs);
  for (size_t i = 0; i < lent->descriptor_count; i++) close(lent->descriptors[i]);
  lent->status = status.ours;
}

/* Before setsid the child has no group of its own. */
static void signal_command(const struct lent *lent, int number) {
  if (kill(-lent->pid, number) != 0 && errno == ESRCH) kill(lent->pid, number);
}

static _Noreturn void end_command(const struct lent *lent) {
  signal_command(lent, SIGKILL);
  while (waitpid(lent->pid, NULL, 0) < 0 && errno == EINTR) continue;
  _exit(0);
}

static void pass_failure(struct lent *lent) {
  uint8_t frame[FRAME_HEADER_BYTES + 4 + ERROR_TEXT_BYTES];
  ssize_t count = read(lent->status, frame, sizeof frame);
  if (count < 0) return;
  close(lent->status);
  lent->status = -1;
  if (count == 0) return;
  lent->failed = true;
  (void)send(CLIENT_FD, frame, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A frame may come in parts. Nothing waits for the rest of it. */
static void take_signal(struct lent *lent) {
  ssize_t count = recv(CLIENT_FD, &lent->signal[lent->signal_length], sizeof lent->signal - lent->signal_length, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) end_command(lent);
  lent->signal_length += (size_t)count;
  if (lent->signal_length < sizeof lent->signal) return;
  lent->signal_length = 0;
  int number = parse_sudo_signal(lent->signal);
  if (number == 0) end_command(lent);
  signal_command(lent, number);
}

/* A stopped client reads nothing. The few bytes wait in its socket, and nobody waits for it. */
static void tell_end(struct lent *lent) {
  struct signalfd_siginfo info;
  while (read(lent->ended, &info, sizeof info) > 0) continue;
  int status;
  if (waitpid(lent->pid, &status, WNOHANG) != lent->pid) return;
  if (lent->status >= 0) pass_failure(lent);
  if (lent->failed) _exit(1);
  bool signalled = WIFSIGNALED(status);
  uint8_t frame[FRAME_HEADER_BYTES + SUDO_EXIT_BYTES];
  write_frame_header(frame, (struct frame_header){FRAME_EXIT, 0, SUDO_EXIT_BYTES});
  put_u32(&frame[FRAME_HEADER_BYTES], signalled ? 0 : (uint32_t)WEXITSTATUS(status));
  put_u32(&frame[FRAME_HEADER_BYTES + 4], signalled ? (uint32_t)WTERMSIG(status) : 0);
  (void)send(CLIENT_FD, frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT);
  _exit(0);
}

static bool place_descriptors(int fd, int programs) {
  int high = programs > 0 ? fcntl(programs, F_DUPFD_CLOEXEC, PROGRAMS_FD + 1) : 0;
  if (high < 0 || dup2(fd, CLIENT_FD) < 0 || (high > 0 && dup3(high, PROGRAMS_FD, O_CLOEXEC) < 0)) return false;
  return close_range(high > 0 ? PROGRAMS_FD + 1 : CLIENT_FD + 1, UINT_MAX, 0) == 0;
}

_Noreturn void sudo_serve(const struct loop *loop, int fd) {
  struct lent lent = {.status = -1};
  if (!place_descriptors(fd, loop->options->programs) || !take_signals(&lent)) _exit(1);
  check_peer(loop->options);
  receive_request(&lent);
  start(&lent, loop);
  for (;;) {
    struct pollfd waits[] = {{.fd = CLIENT_FD, .events = POLLIN}, {.fd = lent.ended, .events = POLLIN}, {.fd = lent.status, .events = POLLIN}};
    if (poll(waits, 3, -1) < 0 && errno != EINTR) end_command(&lent);
    if (waits[2].revents != 0) pass_failure(&lent);
    if (waits[1].revents != 0) tell_end(&lent);
    if (waits[0].revents != 0) take_signal(&lent);
  }
}
