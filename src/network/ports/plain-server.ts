import type { Server, ServerOptions } from "node:http";
import { createServer } from "node:http";

/**
 * A server that reads every header that comes. Node leaves out what stands behind two thousand others, but frames the request by it: an
 * `Origin`, a second `Host` or a `Content-Length` there would be seen by everybody but by whoever judges the request. A head's size is bounded.
 */
export function createPlainServer(options: ServerOptions): Server {
  const server = createServer(options);
  server.maxHeadersCount = 0;
  return server;
}
