/* The keeper's clients: processes of the host that send a request, or wait for the sandbox's end. */
#ifndef BELLJAR_CLIENTS_H
#define BELLJAR_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"

/* While all places are taken, further clients wait in the listener's queue. */
#define CLIENTS_MAX 1024u
#define REQUEST_MAX 384
#define REASON_MAX 32
#define LAYER_ID_LENGTH 20u
/* As many overlays as a sandbox has (OVERLAYS_MAX). */
#define GAPS_MAX 4u
/* About ten years. */
#define IDLE_MAX_MS (3650ull * 24 * 3600 * 1000)

enum waiting { WAITS_NOT, WAITS_FOR_END, WAITS_FOR_REMOVAL, WAITS_FOR_RAISE };

struct client {
  bool open;
  int fd;
  enum waiting waiting;
  size_t length;
  uint8_t request[HEAD_BYTES + REQUEST_MAX];
};

struct clients {
  size_t count, waiter_count;
  /* No place at or after `end` was ever used: its memory is not touched. */
  size_t end;
  struct client at[CLIENTS_MAX];
};

/*
 * The deadline and the idle time are 0, the action 0 (the one before stands), and the reason "killed", if the request has none. The reason lies in the client and
 * has only a-z and `_`; the layers too, and are ids, or NULL.
 */
struct keeper_request {
  uint8_t operation;
  uint64_t deadline_ms;
  enum deadline_action action;
  uint64_t idle_ms;
  const char *reason;
  const char *layer;
  bool only_tells; /* of KEEPER_RAISE: what became of the raise to that layer */
  bool is_brief;   /* of KEEPER_STATUS: without what the sandbox uses */
  /* The layer that takes the place of several with that raise, and where they are (struct gap). NULL: there is none. */
  const char *merged;
  unsigned gap_count;
  struct {
    const char *overlay;
    unsigned above, count;
  } gaps[GAPS_MAX];
};

/* Call it only while count < CLIENTS_MAX. False with errno set when no client could be accepted. */
bool clients_accept(struct clients *clients, int listener);
/* True when a whole request has come. A malformed request is refused, and its client dropped. */
bool client_read(struct clients *clients, struct client *client, struct keeper_request *request);
/* Both drop the client. `fields` may be NULL: a reply without fields. */
void client_reply(struct clients *clients, struct client *client, const struct field_writer *fields);
void client_refuse(struct clients *clients, struct client *client, uint16_t code, int error, const char *text);
/* Keeps the client until clients_tell. */
void client_wait(struct clients *clients, struct client *client, enum waiting waiting);
/* Both send it to all clients with this kind of waiting, and drop them. */
void clients_answer(struct clients *clients, enum waiting waiting, const struct field_writer *fields);
void clients_tell(struct clients *clients, enum waiting waiting, const char *reason);

#endif
