/* The program `sudo` inside a sandbox. It has no rights of its own: it asks the guest, which starts the command. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "io.h"
#include "request.h"
#include "sudo-door.h"
#include "terminal.h"
#include "wish.h"

extern char **environ;

static const char ONE_ID[] = "this sandbox has one id, so it has no root";
static const char REMEDY[] = "Install uidmap on the host and give its user a range in /etc/subuid and /etc/subgid (belljar doctor says how), then make a new sandbox";
/* With one id they fail somewhere in the middle. */
static const char *const NEED_ROOT[] = {"apt", "apt-get", "aptitude", "dpkg"};
static const int PASSED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct session {
  int socket;
  int signals;
  struct terminal terminal;
};

static _Noreturn void fail(const char *text, const char *more) {
  fprintf(stderr, "sudo: %s%s%s\n", text, more == NULL ? "" : ": ", more == NULL ? "" : more);
  exit(1);
}

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* PID 1 of the sandbox is the guest. Nobody else's answer is worth anything. */
static int connect_to_guest(void) {
  struct sockaddr_un address;
  socklen_t length = sudo_address(&address);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("open a socket", strerror(errno));
  if (connect(fd, (struct sockaddr *)&address, length) != 0) fail("this sandbox was made with root off: no command runs as root", NULL);
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid != 1) fail("another program answers in the guest's place", NULL);
  return fd;
}

static bool has_one_id(void) {
  char text[256];
  ssize_t length = read_file("/proc/self/uid_map", text, sizeof text - 1);
  if (length <= 0) return false;
  text[length] = 0;
  unsigned long first, outside, count;
  return sscanf(text, "%lu %lu %lu", &first, &outside, &count) == 3 && count == 1 && strchr(text, '\n') == &text[length - 1];
}

static int run_as_it_is(const struct wish *wish) {
  for (size_t i = 0; i < COUNT(NEED_ROOT); i++) {
    if (wish->command_count == 0 || strcmp(name_of(wish->command[0]), NEED_ROOT[i]) != 0) continue;
    fprintf(stderr, "sudo: %s, and %s needs one. %s\n", ONE_ID, NEED_ROOT[i], REMEDY);
    return 1;
  }
  fprintf(stderr, "sudo: %s: the command runs as it is\n", ONE_ID);
  char **arguments = build_arguments(wish);
  for (size_t i = 0; i < wish->variable_count; i++) (void)putenv(wish->variables[i]);
  if (arguments == NULL) fail("the command is too long", NULL);
  execvp(arguments[0], arguments);
  fail(arguments[0], strerror(errno));
}

static int open_signals(void) {
  sigset_t passed;
  sigemptyset(&passed);
  for (size_t i = 0; i < COUNT(PASSED); i++) sigaddset(&passed, PASSED[i]);
  if (sigprocmask(SIG_BLOCK, &passed, NULL) != 0) return -1;
  return signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void ask(struct session *session, const struct wish *wish) {
  int descriptors[SUDO_DESCRIPTORS_MAX] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  size_t count = SUDO_STREAMS;
  if (is_interactive()) {
    if (!open_terminal(&session->terminal)) fail("open a terminal", strerror(errno));
    for (int i = 0; i < (int)SUDO_STREAMS; i++)
      if (isatty(i)) descriptors[i] = session->terminal.slave;
    descriptors[count++] = session->terminal.slave;
  } else if (is_in_background()) {
    descriptors[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptors[0] < 0) fail("open /dev/null", strerror(errno));
  }
  /* A guest that refuses closes the socket early. Its answer says more than the error of the write. */
  if (!send_request(session->socket, wish, descriptors, count) && errno != EPIPE && errno != ECONNRESET) fail("ask the guest", strerror(errno));
  if (count > SUDO_STREAMS) close(session->terminal.slave);
}

static void pass_signal(const struct session *session, int number) {
  uint8_t payload[4];
  put_u32(payload, (uint32_t)number);
  (void)send_frame(session->socket, (struct frame_header){FRAME_SIGNAL, 0, sizeof payload}, payload);
}

/* The command stands still while sudo does. */
static void stop(struct session *session) {
  pass_signal(session, SIGSTOP);
  restore(&session->terminal);
  (void)raise(SIGSTOP);
}

static void go_on(struct session *session) {
  if (session->terminal.master >= 0) (void)make_raw(&session->terminal);
  copy_size(&session->terminal);
  pass_signal(session, SIGCONT);
}

static void take_signals(struct session *session) {
  struct signalfd_siginfo info;
  while (read(session->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGTSTP) stop(session);
    else if (info.ssi_signo == SIGCONT) go_on(session);
    /* A change of the terminal's size is a signal of its own. */
    else if (info.ssi_signo == SIGWINCH && session->terminal.master >= 0) copy_size(&session->terminal);
    else pass_signal(session, (int)info.ssi_signo);
  }
}

/* What the command printed before its end. */
static void drain(struct session *session) {
  struct pollfd rest = {.fd = session->terminal.master, .events = POLLIN};
  while (session->terminal.master >= 0 && poll(&rest, 1, 0) > 0 && (rest.revents & POLLIN) != 0 && show_output(&session->terminal)) continue;
  restore(&session->terminal);
}

/* Ends as the command did, so that a shell sees the same. */
static _Noreturn void end_as(uint32_t code, uint32_t number) {
  if (number == 0) exit((int)code);
  sigset_t all;
  sigfillset(&all);
  (void)signal((int)number, SIG_DFL);
  (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
  (void)raise((int)number);
  exit(128 + (int)number);
}

static _Noreturn void take_end(struct session *session) {
  uint8_t bytes[FRAME_HEADER_BYTES];
  char payload[PAYLOAD_MAX_BYTES + 1];
  struct frame_header header;
  bool whole = read_whole(session->socket, bytes, sizeof bytes) && parse_frame_header(bytes, &header) && read_whole(session->socket, payload, header.length);
  drain(session);
  if (!whole) fail("the guest ended the command", NULL);
  if (header.type == FRAME_EXIT && header.length == SUDO_EXIT_BYTES) end_as(get_u32((uint8_t *)payload), get_u32((uint8_t *)&payload[4]));
  if (header.type != FRAME_ERROR || header.length < 4) fail("the guest sent no answer", NULL);
  payload[header.length] = 0;
  fail(&payload[4], NULL);
}

static void close_terminal(struct terminal *terminal) {
  close(terminal->master);
  terminal->master = -1;
}

static _Noreturn void follow(struct session *session) {
  struct terminal *terminal = &session->terminal;
  bool takes = terminal->master >= 0 && make_raw(terminal);
  for (;;) {
    bool waits = terminal->pending_length > 0;
    struct pollfd events[] = {{.fd = session->socket, .events = POLLIN},
                              {.fd = session->signals, .events = POLLIN},
                              {.fd = terminal->master, .events = (short)(POLLIN | (waits ? POLLOUT : 0))},
                              {.fd = takes && !waits && terminal->master >= 0 ? STDIN_FILENO : -1, .events = POLLIN}};
    if (poll(events, COUNT(events), -1) < 0 && errno != EINTR) fail("wait for the command", strerror(errno));
    if (events[1].revents != 0) take_signals(session);
    if (events[2].revents != 0 && (events[2].revents & POLLOUT) != 0) takes = give_input(terminal) && takes;
    if ((events[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !show_output(terminal)) close_terminal(terminal);
    if (events[3].revents != 0) takes = terminal->master >= 0 && take_input(terminal);
    if (events[0].revents != 0) take_end(session);
  }
}

static int say(const struct wish *wish) {
  if (wish->lists) puts("The commands that this user may run here:\n    (ALL) NOPASSWD: ALL");
  return 0;
}

int sudo_main(int argc, char **argv) {
  struct wish wish;
  const char *wrong = read_wish(&wish, argc, argv);
  if (wrong != NULL) fail(wrong, NULL);
  if (wish.shows_help || wish.shows_version) return fputs(wish.shows_help ? SUDO_HELP : "sudo of a Belljar sandbox\n", stdout) == EOF;
  struct session session = {.socket = connect_to_guest(), .terminal = {.master = -1, .slave = -1}};
  if (wish.only_asks && wish.command_count == 0) return say(&wish);
  if (has_one_id()) return run_as_it_is(&wish);
  session.signals = open_signals();
  if (session.signals < 0) fail("take signals", strerror(errno));
  ask(&session, &wish);
  follow(&session);
}
