/* The words between the keeper and the sandbox's first process during the set-up: one byte, and descriptors with it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail.h"

union control {
  struct cmsghdr align;
  char room[CMSG_SPACE(sizeof(int) * CHANNEL_FDS_MAX)];
};

bool send_word(int channel, enum word word, const int *fds, unsigned count) {
  char byte = (char)word;
  union control control;
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  if (count > 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
  }
  ssize_t sent;
  while ((sent = sendmsg(channel, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
  return sent == 1;
}

int receive_word(int channel, enum word word, int *fds, unsigned capacity) {
  char byte = 0;
  union control control;
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got;
  while ((got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  if (got != 1 || byte != (char)word || (message.msg_flags & MSG_CTRUNC) != 0) return -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL) return 0;
  size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  if (header->cmsg_type != SCM_RIGHTS || count > capacity) return -1;
  memcpy(fds, CMSG_DATA(header), sizeof(int) * count);
  return (int)count;
}
