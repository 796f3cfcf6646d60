/*
 * Asks very many sockets one question each, so that a large host process need not hold a stream for each of them. Standard input has the
 * questions: the length of a path, the path, the length of a request, the request. Standard output has the answers as they come: the number
 * of the question, the length of a frame, the frame. A question without an answer, for whatever reason, has no line there: the host asks it
 * by itself. Whoever answers may be hostile: an answer is bounded in size and time, and looked at by the host alone.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"
#include "jail.h"

#define ASKED_AT_ONCE 128u
#define REQUEST_MAX 256u
#define ANSWER_MAX 1024u
/* Who takes longer is asked by the host, which is patient. */
#define PATIENCE_MS 500

struct question {
  struct sockaddr_un address;
  uint8_t request[REQUEST_MAX];
  size_t length;
};

struct asked {
  int fd; /* -1: this place is free */
  uint32_t number;
  int64_t until_ms;
  size_t length;
  uint8_t answer[FRAME_HEADER_BYTES + ANSWER_MAX];
};

static struct asked places[ASKED_AT_ONCE];

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool read_part(void *to, size_t capacity, size_t *length) {
  uint8_t size[2];
  if (fread(size, sizeof size, 1, stdin) != 1) return false;
  *length = get_u16(size);
  return *length > 0 && *length <= capacity && fread(to, *length, 1, stdin) == 1;
}

/* False at the end of the questions, and for one that is none. */
static bool read_question(struct question *question) {
  size_t path;
  memset(&question->address, 0, sizeof question->address);
  question->address.sun_family = AF_UNIX;
  return read_part(question->address.sun_path, sizeof question->address.sun_path - 1, &path) && read_part(question->request, sizeof question->request, &question->length);
}

/* A line that is full is no place to wait. */
static int ask(const struct question *question) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr *)&question->address, sizeof question->address) == 0 &&
      send(fd, question->request, question->length, MSG_NOSIGNAL) == (ssize_t)question->length)
    return fd;
  close(fd);
  return -1;
}

static void let_go(struct asked *asked) {
  close(asked->fd);
  asked->fd = -1;
}

/* The host that does not read any more is gone. */
static void tell(const struct asked *asked) {
  uint8_t head[6];
  put_u32(head, asked->number);
  put_u16(head + 4, (uint16_t)asked->length);
  if (fwrite(head, sizeof head, 1, stdout) != 1 || fwrite(asked->answer, asked->length, 1, stdout) != 1) exit(EXIT_FAILURE);
}

enum answer_state { ANSWER_WHOLE, ANSWER_COMES, ANSWER_NONE };

static enum answer_state read_answer(struct asked *asked) {
  struct frame_header header;
  ssize_t got = recv(asked->fd, asked->answer + asked->length, sizeof asked->answer - asked->length, 0);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR) ? ANSWER_COMES : ANSWER_NONE;
  asked->length += (size_t)got;
  if (asked->length < FRAME_HEADER_BYTES) return ANSWER_COMES;
  if (!parse_frame_header(asked->answer, &header) || header.length > ANSWER_MAX) return ANSWER_NONE;
  size_t whole = FRAME_HEADER_BYTES + header.length;
  if (asked->length < whole) return ANSWER_COMES;
  asked->length = whole;
  return ANSWER_WHOLE;
}

/* Fills the free places. Returns whether there are more questions. */
static bool ask_more(uint32_t *next) {
  static struct question question;
  for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
    while (places[i].fd < 0) {
      if (!read_question(&question)) return false;
      places[i].number = (*next)++;
      places[i].length = 0;
      places[i].until_ms = now_ms() + PATIENCE_MS;
      places[i].fd = ask(&question);
    }
  }
  return true;
}

static void look(const struct pollfd *polled) {
  int64_t now = now_ms();
  for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
    struct asked *asked = &places[i];
    if (asked->fd < 0) continue;
    enum answer_state state = polled[i].revents != 0 ? read_answer(asked) : ANSWER_COMES;
    if (state == ANSWER_WHOLE) tell(asked);
    if (state != ANSWER_COMES || now >= asked->until_ms) let_go(asked);
  }
}

static int longest_wait(void) {
  int64_t until = INT64_MAX;
  for (size_t i = 0; i < ASKED_AT_ONCE; i++)
    if (places[i].fd >= 0 && places[i].until_ms < until) until = places[i].until_ms;
  int64_t wait = until == INT64_MAX ? 0 : until - now_ms();
  return wait < 0 ? 0 : (int)wait;
}

int ask_main(void) {
  struct pollfd polled[ASKED_AT_ONCE];
  uint32_t next = 0;
  bool more = true;
  for (size_t i = 0; i < ASKED_AT_ONCE; i++) places[i].fd = -1;
  for (;;) {
    if (more) more = ask_more(&next);
    size_t open = 0;
    for (size_t i = 0; i < ASKED_AT_ONCE; i++) {
      polled[i] = (struct pollfd){.fd = places[i].fd, .events = POLLIN};
      open += places[i].fd >= 0;
    }
    if (open == 0 && !more) return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    if (poll(polled, ASKED_AT_ONCE, longest_wait()) < 0 && errno != EINTR) die("wait for answers");
    look(polled);
  }
}
