#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "network.h"

#define LENGTH_BYTES 2u
#define QUESTION_MAX 4096u
/* The longest answer that every client takes (RFC 1035, section 4.2.1). */
#define ANSWER_MAX 512u
#define QUESTIONS_MAX 32u
/* A resolver asks again, or gives up, after five seconds. */
#define PATIENCE_US 6000000

/* RFC 1035, section 4.1.1: an answer; cut short, so ask over TCP; recursion is available. */
#define FLAGS_AT (LENGTH_BYTES + 2u)
#define ANSWER_AND_CUT 0x82u
#define RECURSES 0x80u

/* One datagram, and its connection to the TCP listener at the same address. */
struct question {
  struct question *next;
  struct name_socket *socket;
  struct event connection;
  struct sockaddr_in from;
  int64_t deadline_us;
  bool is_sent;
  size_t length;
  size_t answer_length;
  /* As DNS over TCP has them: the length, then the message. */
  uint8_t bytes[LENGTH_BYTES + QUESTION_MAX];
  uint8_t answer[LENGTH_BYTES + ANSWER_MAX];
};

static bool can_ask(const struct loop *loop) { return loop->question_count < QUESTIONS_MAX && network_has_fds(loop, 1); }

/* Later events of the same batch may still name it, so names_settle frees it. */
static void end_question(struct loop *loop, struct question *question) {
  if (question->connection.fd < 0) return;
  loop_close(loop, &question->connection);
  loop->question_count--;
  loop->network_fds--;
}

static void send_question(struct loop *loop, struct question *question) {
  ssize_t count = send(question->connection.fd, question->bytes, question->length, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  /* A new connection takes so few bytes at once. */
  question->is_sent = count == (ssize_t)question->length;
  if (!question->is_sent || !loop_set(loop, &question->connection, EPOLLIN)) end_question(loop, question);
}

static void send_datagram(const struct question *question, const uint8_t *bytes, size_t length) {
  (void)sendto(question->socket->event.fd, &bytes[LENGTH_BYTES], length, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&question->from,
               sizeof question->from);
}

/* The question itself, as an answer that was cut short: the program then asks over TCP. */
static void send_cut(struct question *question) {
  question->bytes[FLAGS_AT] |= ANSWER_AND_CUT;
  question->bytes[FLAGS_AT + 1] |= RECURSES;
  send_datagram(question, question->bytes, question->length - LENGTH_BYTES);
}

static void receive_answer(struct loop *loop, struct question *question) {
  size_t have = question->answer_length;
  ssize_t count = recv(question->connection.fd, &question->answer[have], sizeof question->answer - have, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  have = question->answer_length += count > 0 ? (size_t)count : 0;
  size_t length = have < LENGTH_BYTES ? 0 : get_u16(question->answer);
  bool is_whole = have >= LENGTH_BYTES + length, is_long = length > ANSWER_MAX;
  if (count > 0 && (have < LENGTH_BYTES || (!is_whole && !is_long))) return;
  if (is_long) send_cut(question);
  else if (is_whole && length > 0) send_datagram(question, question->answer, length);
  end_question(loop, question);
}

static void on_connection(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  struct question *question = event->owner;
  if (question->is_sent) receive_answer(loop, question);
  else send_question(loop, question);
}

static void ask(struct loop *loop, struct question *question) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    free(question);
    return;
  }
  question->connection = (struct event){.fd = fd, .ready = on_connection, .owner = question};
  question->deadline_us = now_us() + PATIENCE_US;
  question->next = loop->questions;
  loop->questions = question;
  loop->question_count++;
  loop->network_fds++;
  const struct sockaddr_in *at = &question->socket->at;
  bool connects = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EINPROGRESS;
  if (!connects || !loop_set(loop, &question->connection, EPOLLOUT)) end_question(loop, question);
}

/* Datagrams that are empty or too long, or that come while memory or descriptors are short, are dropped, as a network may do. */
static void on_datagram(struct loop *loop, struct event *event, uint32_t events) {
  (void)events;
  if (!can_ask(loop)) return;
  uint8_t bytes[QUESTION_MAX];
  struct sockaddr_in from;
  socklen_t from_length = sizeof from;
  ssize_t count = recvfrom(event->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &from_length);
  if (count <= 0 || count > (ssize_t)sizeof bytes) return;
  struct question *question = calloc(1, sizeof *question);
  if (question == NULL) return;
  question->socket = event->owner;
  question->from = from;
  question->length = LENGTH_BYTES + (size_t)count;
  put_u16(question->bytes, (uint16_t)count);
  memcpy(&question->bytes[LENGTH_BYTES], bytes, (size_t)count);
  ask(loop, question);
}

static bool share_address(int fd, int on) { return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0; }

/*
 * A child may not have closed its copy of an earlier socket yet, which names_close lets share the address: the kernel gives datagrams to
 * the newest socket. Nobody may bind a newer one beside this.
 */
static bool bind_alone(int fd, const struct sockaddr_in *at) {
  return share_address(fd, 1) && bind(fd, (const struct sockaddr *)at, sizeof *at) == 0 && share_address(fd, 0);
}

bool names_open(struct loop *loop, struct name_socket *names, struct sockaddr_in at) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  *names = (struct name_socket){.next = loop->name_sockets, .event = {.fd = fd, .ready = on_datagram, .owner = names}, .at = at};
  if (bind_alone(fd, &at) && loop_set(loop, &names->event, EPOLLIN)) {
    loop->name_sockets = names;
    return true;
  }
  int error = errno;
  loop_close(loop, &names->event);
  errno = error;
  return false;
}

void names_close(struct loop *loop, struct name_socket *names) {
  struct name_socket **at = &loop->name_sockets;
  while (*at != NULL && *at != names) at = &(*at)->next;
  if (*at == NULL) return;
  *at = names->next;
  for (struct question *question = loop->questions; question != NULL; question = question->next) {
    if (question->socket == names) end_question(loop, question);
  }
  share_address(names->event.fd, 1);
  loop_close(loop, &names->event);
}

void names_settle(struct loop *loop) {
  struct question **at = &loop->questions;
  while (*at != NULL) {
    struct question *question = *at;
    if (question->deadline_us <= now_us()) end_question(loop, question);
    if (question->connection.fd >= 0) {
      at = &question->next;
      continue;
    }
    *at = question->next;
    free(question);
  }
  for (struct name_socket *names = loop->name_sockets; names != NULL; names = names->next) {
    loop_set(loop, &names->event, can_ask(loop) ? EPOLLIN : 0);
  }
}

/* The newest question stands first. */
int64_t names_first_deadline(const struct loop *loop) {
  const struct question *question = loop->questions;
  while (question != NULL && question->next != NULL) question = question->next;
  return question == NULL ? 0 : question->deadline_us;
}
