/* Removes what is left of a sandbox that has ended. Its keeper does so; if the keeper was lost, `clear` does. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "jail.h"

#define END_FILE "end.json"
#define END_BYTES 128u
/* Somebody has begun to end the keeper. */
#define KILL_FILE END_FILE ".killed"
/* The time that a killed keeper may take to end. */
#define KEEPER_DIES_MS 5000
/* The time that a dying process may take to let go of its locks: two seconds. */
#define LOCK_TICK_US 100000
#define LOCK_TICKS 20

/* A power cut may leave the name and nothing behind it. */
static bool is_end_written(int folder) {
  char first = 0;
  int fd = openat(folder, END_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  bool is_written = fd >= 0 && read(fd, &first, 1) == 1 && first == '{';
  if (fd >= 0) close(fd);
  return is_written;
}

/* True: the end is written, or the folder is already removed. */
bool has_ended(int folder) {
  struct stat status;
  return is_end_written(folder) || fstat(folder, &status) < 0 || status.st_nlink == 0;
}

/* Blanks fill the reserved room. A reader of JSON ignores them. */
static bool write_over(int folder, const char *line) {
  char text[END_BYTES];
  memset(text, ' ', sizeof text);
  memcpy(text, line, strlen(line));
  text[sizeof text - 1] = '\n';
  int fd = openat(folder, END_FILE ".new", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool written = fd >= 0 && write_whole(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  return written;
}

void reserve_end(int folder) {
  if (!write_over(folder, "")) die("reserve the room for the sandbox's end");
}

/* Writes one line of JSON into the reserved room, whole or not at all. An end that is already written stands. */
bool write_end(int folder, const char *reason, bool kept) {
  char line[END_BYTES - 1];
  struct timespec now;
  if (has_ended(folder)) return true;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(line, sizeof line, "{\"reason\":\"%s\",\"at\":%" PRId64 "%s}", reason, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, kept ? ",\"kept\":true" : "");
  return write_over(folder, line) && renameat(folder, END_FILE ".new", folder, END_FILE) == 0;
}

static void remove_sockets(const struct spec *spec) {
  int folder = open(spec->sockets, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  unlinkat(folder, GUEST_SOCKET, 0);
  unlinkat(folder, PAUSED_SOCKET, 0);
  unlinkat(folder, KEEPER_SOCKET, 0);
  unlinkat(folder, RECORD_FILE, 0);
  unlinkat(folder, RECORD_FILE ".new", 0);
  close(folder);
  rmdir(spec->sockets);
}

bool name_guest_socket(const struct spec *spec, bool running) {
  int folder = open(spec->sockets, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  bool named = renameat(folder, running ? PAUSED_SOCKET : GUEST_SOCKET, folder, running ? GUEST_SOCKET : PAUSED_SOCKET) == 0;
  int error = errno;
  close(folder);
  errno = error;
  return named;
}

/* The record is removed last: if this process is killed before, the next one still finds it. */
bool clean_kernel_objects(const struct spec *spec) {
  if (!remove_cgroups(spec)) return false;
  remove_sockets(spec);
  return true;
}

/* With a sub-id map the files belong to sub-ids. Only a process in a namespace with the same map may change them. */
static _Noreturn void work_in_namespace(const struct spec *spec, int (*work)(const struct spec *), int parent) {
  char byte = 0;
  if (unshare(CLONE_NEWUSER) < 0 || !write_whole(parent, &byte, 1) || !read_whole(parent, &byte, 1)) _exit(EXIT_FAILURE);
  close(parent);
  if (spec->id_map == ID_MAP_SLOT && setgroups(0, NULL) < 0) _exit(EXIT_FAILURE); /* root's */
  if (spec->id_map != ID_MAP_SINGLE && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)) _exit(EXIT_FAILURE);
  _exit(work(spec));
}

int run_as_owner(const struct spec *spec, int (*work)(const struct spec *)) { return spec->id_map == ID_MAP_SUBIDS ? run_in_namespace(spec, work) : work(spec); }

int run_in_namespace(const struct spec *spec, int (*work)(const struct spec *)) {
  int pair[2], status;
  char byte = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) return EXIT_FAILURE;
  pid_t child = fork();
  if (child < 0) return EXIT_FAILURE;
  if (child == 0) {
    close(pair[0]); /* otherwise, after a kill of the parent, the child would wait for ever and hold the folder's lock */
    work_in_namespace(spec, work, pair[1]);
  }
  close(pair[1]);
  if (read_whole(pair[0], &byte, 1)) {
    write_id_maps(spec, child, CANONICAL_FIRST_ID);
    write_whole(pair[0], &byte, 1);
  }
  close(pair[0]);
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int remove_own(const struct spec *spec) { return remove_layers(spec) ? EXIT_SUCCESS : EXIT_FAILURE; }

static int settle_own(const struct spec *spec) { return settle_layers(spec) ? EXIT_SUCCESS : EXIT_FAILURE; }

bool remove_layers_as_owner(const struct spec *spec) {
  return spec->storage == STORAGE_TMPFS ? drop_held_layers(spec) : run_as_owner(spec, remove_own) == EXIT_SUCCESS;
}

bool settle_layers_as_owner(const struct spec *spec) { return run_as_owner(spec, settle_own) == EXIT_SUCCESS; }

static int count_own(const struct spec *spec) { return count_layers(spec) ? EXIT_SUCCESS : EXIT_FAILURE; }

bool count_layers_as_owner(const struct spec *spec) { return run_as_owner(spec, count_own) == EXIT_SUCCESS; }

bool take_lock(int folder) {
  if (flock(folder, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK) die("lock the sandbox's folder");
  return false;
}

static void wake(int signal) { (void)signal; }

/* The timer goes off again and again, so a wait that begins between two signals ends too. */
bool take_lock_soon(int folder) {
  struct sigaction handled = {.sa_handler = wake}, before;
  struct itimerval ticks = {.it_interval = {.tv_usec = LOCK_TICK_US}, .it_value = {.tv_usec = LOCK_TICK_US}}, none = {.it_value = {.tv_sec = 0}};
  bool is_taken = take_lock(folder);
  if (is_taken) return true;
  if (sigaction(SIGALRM, &handled, &before) < 0 || setitimer(ITIMER_REAL, &ticks, NULL) < 0) die("limit the wait for a lock");
  for (int i = 0; i < LOCK_TICKS && !is_taken; i++) {
    is_taken = flock(folder, LOCK_EX) == 0;
    if (!is_taken && errno != EINTR) die("wait for the lock of the sandbox's folder");
  }
  setitimer(ITIMER_REAL, &none, NULL);
  sigaction(SIGALRM, &before, NULL);
  return is_taken;
}

int open_runs(const struct spec *spec) {
  char path[PATH_MAX];
  int runs = -1;
  if (snprintf(path, sizeof path, "%s/..", spec->folder) < (int)sizeof path) runs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (runs < 0) die("open the folder of the sandbox's runs");
  return runs;
}

/* Opens the process that listens at the keeper's socket. -1: there is none. */
static int open_keeper(const struct spec *spec, int *connection) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct ucred keeper;
  socklen_t length = sizeof keeper;
  if (snprintf(address.sun_path, sizeof address.sun_path, "%s/" KEEPER_SOCKET, spec->sockets) >= (int)sizeof address.sun_path) return -1;
  *connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (*connection < 0 || connect(*connection, (struct sockaddr *)&address, sizeof address) < 0) return -1;
  if (getsockopt(*connection, SOL_SOCKET, SO_PEERCRED, &keeper, &length) < 0 || keeper.pid <= 0) return -1;
  int process = (int)syscall(SYS_pidfd_open, keeper.pid, 0u);
  /* If the keeper ended before this line, its pid may have passed to another process. Then its socket has hung up. */
  struct pollfd socket_now = {.fd = *connection};
  if (process < 0 || poll(&socket_now, 1, 0) == 0) return process;
  close(process);
  return -1;
}

/* Others see the keeper go, and one of them may be the first to write the end. Without room for the mark, the keeper counts as lost. */
static void mark_kill(int folder) {
  int fd = openat(folder, KILL_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) close(fd);
}

/* The reason of an end that the keeper has not written. */
static const char *name_lost_end(int folder, bool was_built, const struct spec *recorded) {
  if (faccessat(folder, KILL_FILE, F_OK, 0) == 0) return "killed";
  return was_built && is_this_boot(recorded) ? "keeper_lost" : "host_lost";
}

/* The sandbox ends with its keeper. A keeper that is already gone is no failure: the folder's lock tells. */
static void end_keeper(const struct spec *spec) {
  int connection = -1;
  struct pollfd gone = {.fd = open_keeper(spec, &connection), .events = POLLIN};
  if (gone.fd >= 0 && syscall(SYS_pidfd_send_signal, gone.fd, SIGKILL, NULL, 0u) == 0) poll(&gone, 1, KEEPER_DIES_MS);
  if (gone.fd >= 0) close(gone.fd);
  if (connection >= 0) close(connection);
}

/* A later run began with files that somebody was told are kept. They stay until the sandbox is deleted, however the run ends. */
static bool keeps_layers(const struct spec *asked) { return asked->has_layers && !asked->remove_layers; }

/*
 * Clears the folder of a run whose keeper is gone, and writes the reason of its end. The layers stay unless the sandbox is deleted. The
 * specification on standard input names the folders; the keeper's record, if it was written, names the rest. EXIT_ALIVE: the keeper lives,
 * or another run of a sandbox that is to be deleted. The folder stays locked to the end, so that only one process clears it. Without a
 * written end this fails: nobody could tell whether the layers are kept.
 */
int clear_main(void) {
  static struct spec asked, recorded;
  parse_spec(read_spec(STDIN_FILENO), &asked);
  int runs = open_runs(&asked);
  int folder = open(asked.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) die("open the sandbox's folder");
  if (asked.end_keeper) {
    mark_kill(folder);
    end_keeper(&asked);
    if (read_record(&asked, &recorded) && is_this_boot(&recorded)) end_cgroups(&recorded);
  }
  if (!take_lock(folder)) {
    if (!asked.keeper_is_gone && !asked.end_keeper && faccessat(folder, END_FILE, F_OK, 0) < 0) return EXIT_ALIVE;
    if (flock(folder, LOCK_EX) < 0) die("wait for the keeper to finish");
  }
  if (asked.remove_layers && !take_lock_soon(runs)) return EXIT_ALIVE;
  if (asked.remove_layers) hold_pool(&asked);
  bool was_built = read_record(&asked, &recorded);
  if (was_built && is_this_boot(&recorded)) end_cgroups(&recorded);
  if (!clean_kernel_objects(was_built ? &recorded : &asked)) die("remove the sandbox's control groups");
  const struct spec *known = was_built ? &recorded : &asked;
  bool has_end = write_end(folder, asked.end_keeper ? "killed" : name_lost_end(folder, was_built, &recorded), keeps_layers(&asked));
  if (has_end) unlinkat(folder, KILL_FILE, 0);
  if (asked.remove_layers && !remove_layers_as_owner(known)) return EXIT_FAILURE;
  if (!has_end) die("write the reason of the sandbox's end");
  return EXIT_SUCCESS;
}
