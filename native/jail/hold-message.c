/* The messages between the holder and those who ask it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hold.h"

union control {
  struct cmsghdr align;
  char room[CMSG_SPACE(sizeof(int) * HOLD_FDS_MAX)];
};

bool send_hold(int connection, const void *message, size_t length, const int *fds, unsigned count) {
  union control control;
  struct iovec data = {.iov_base = (void *)(uintptr_t)message, .iov_len = length};
  struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
  if (count > 0) {
    memset(&control, 0, sizeof control);
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
  }
  ssize_t sent;
  while ((sent = sendmsg(connection, &header, MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
  return sent == (ssize_t)length;
}

ssize_t receive_hold(int connection, void *message, size_t length, int fds[HOLD_FDS_MAX], unsigned *count) {
  union control control;
  struct iovec data = {.iov_base = message, .iov_len = length};
  struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got;
  *count = 0;
  while ((got = recvmsg(connection, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  if (got < 0) return -1;
  struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
  if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    *count = (unsigned)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(rights), sizeof(int) * *count);
  }
  if ((header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0) return got;
  while (*count > 0) close(fds[--*count]);
  errno = EMSGSIZE;
  return -1;
}

bool is_own_peer(int connection) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}
