/* ACCEPT: sockets inside, at /run/belljar/SERVICE.sock, whose connections go to streams that the host keeps waiting. */
#ifndef BELLJAR_SERVICE_H
#define BELLJAR_SERVICE_H

struct connection;
struct loop;
struct request;

void service_start(struct connection *connection, const struct request *request);
/* Takes a stream out of its service's queue, if it waits there. */
void service_leave(struct connection *connection);
void services_close(struct loop *loop);

#endif
