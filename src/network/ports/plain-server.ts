import type { Server, ServerOptions } from "node:http";
import { createServer } from "node:http";

/** Time for which an idle connection is kept: longer than clients and proxies keep theirs, so that no request meets a connection that closes. */
export const KEEP_ALIVE_MS = 72_000;

/**
 * Creates an HTTP server that reads all headers. By default Node hides headers after the first two thousand, but still frames the request
 * by them. A hidden `Origin`, second `Host` or `Content-Length` would escape the checks. The size of a head stays bounded.
 */
export function createPlainServer(options: ServerOptions): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, ...options });
  server.maxHeadersCount = 0;
  return server;
}
