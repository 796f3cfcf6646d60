/* The words between the keeper and the sandbox's first process during the set-up: one byte, and descriptors with it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail.h"

/* The kernel takes 253 descriptors with one message (SCM_MAX_FD). More of them come before the word, with WORD_MORE. */
#define FDS_A_MESSAGE 250u

union control {
  struct cmsghdr align;
  char room[CMSG_SPACE(sizeof(int) * FDS_A_MESSAGE)];
};

static bool send_message(int channel, enum word word, const int *fds, unsigned count) {
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

bool send_word(int channel, enum word word, const int *fds, unsigned count) {
  for (; count > FDS_A_MESSAGE; fds += FDS_A_MESSAGE, count -= FDS_A_MESSAGE)
    if (!send_message(channel, WORD_MORE, fds, FDS_A_MESSAGE)) return false;
  return send_message(channel, word, fds, count);
}

/* Returns the number of descriptors, or -1. `word` becomes the one that came. */
static int receive_message(int channel, char *word, int *fds, unsigned capacity) {
  union control control;
  struct iovec data = {.iov_base = word, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got;
  while ((got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  if (got != 1 || (message.msg_flags & MSG_CTRUNC) != 0) return -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL) return 0;
  size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  if (header->cmsg_type != SCM_RIGHTS || count > capacity) return -1;
  memcpy(fds, CMSG_DATA(header), sizeof(int) * count);
  return (int)count;
}

int receive_word(int channel, enum word word, int *fds, unsigned capacity) {
  unsigned count = 0;
  char came = WORD_MORE;
  while (came == WORD_MORE) {
    int more = receive_message(channel, &came, fds + count, capacity - count);
    if (more < 0 || (came == WORD_MORE && more == 0)) return -1;
    count += (unsigned)more;
  }
  return came == (char)word ? (int)count : -1;
}
