/*
 * The caretaker: a process that waits until nobody uses the pool, and unmounts it. There is one while the pool is mounted. If it was killed,
 * whoever opens the pool next starts another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "pool.h"

#define NAME "belljar-pool"
#define OWN_LOCK_FD 3

/* The lock stays until both processes have closed the descriptor. */
static bool is_first(int lock) {
  struct flock care = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = POOL_CARE, .l_len = 1};
  if (fcntl(lock, F_OFD_SETLK, &care) == 0) return true;
  if (errno != EAGAIN && errno != EACCES) die("take care of the storage pool");
  return false;
}

/* The lock of whoever started it is among what it lets go of. A service that is stopped tells all its processes to end: this one does so last. */
static void leave_starter(int lock) {
  static const int IGNORED[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT};
  for (size_t i = 0; i < sizeof IGNORED / sizeof IGNORED[0]; i++) signal(IGNORED[i], SIG_IGN);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(lock, OWN_LOCK_FD) < 0) _exit(EXIT_FAILURE);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) dup2(null, fd);
  if (syscall(SYS_close_range, OWN_LOCK_FD + 1, ~0u, 0u) < 0 || chdir("/") < 0 || setsid() < 0) _exit(EXIT_FAILURE);
  prctl(PR_SET_NAME, NAME);
}

static void lock_alone(void) {
  while (flock(OWN_LOCK_FD, LOCK_EX) < 0)
    if (errno != EINTR) _exit(EXIT_FAILURE);
}

/* Who comes while the pool is trimmed need not wait for that. If something of the pool is still open, it goes when that is closed. */
static _Noreturn void take_care(const struct pool *pool) {
  do {
    lock_alone();
    flock(OWN_LOCK_FD, LOCK_UN);
    if (is_pool_mounted(pool->folder)) trim_pool(pool->folder);
  } while (flock(OWN_LOCK_FD, LOCK_EX | LOCK_NB) < 0);
  if (is_pool_mounted(pool->folder)) umount2(pool->folder, MNT_DETACH);
  _exit(EXIT_SUCCESS);
}

void start_caretaker(const struct pool *pool, uint64_t bytes) {
  int lock = open_pool_lock(pool->folder);
  pid_t pid = is_first(lock) ? fork() : 1;
  if (pid < 0) die("start the caretaker of the storage pool");
  if (pid == 0) {
    leave_starter(lock);
    fit_pool(pool, bytes);
    take_care(pool);
  }
  close(lock);
}
