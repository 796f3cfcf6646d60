import * as z from "zod";
import { absolutePath, addresses, integer, size, time } from "./config-fields.ts";
import { GIB, MINUTE_MS, HOUR_MS, DAY_MS } from "./units.ts";

/** The way out of all sandboxes. */
export function networkSchema() {
  return z
    .strictObject({
      connections: integer(1, 100_000).default(256).describe("Maximum number of open connections of one sandbox"),
      connectionsPerSecond: integer(1, 100_000)
        .default(200)
        .describe(
          "Average rate of new connections of one sandbox, per second. Requests and DNS lookups on open connections may run at five times this rate; beyond that they are delayed",
        ),
      bytesPerDay: size(1, Number.MAX_SAFE_INTEGER)
        .default(100 * GIB)
        .describe("Maximum number of bytes that one sandbox may send and receive in a day"),
      ownerConnections: integer(1, 100_000).default(1024).describe("Maximum number of open connections of all sandboxes of one owner"),
      ownerConnectionsPerSecond: integer(1, 100_000)
        .default(1000)
        .describe(
          "Average rate of new connections of all sandboxes of one owner, per second. The same rule for requests and DNS lookups applies",
        ),
      ownerBytesPerDay: size(1, Number.MAX_SAFE_INTEGER)
        .default(500 * GIB)
        .describe("Maximum number of bytes that all sandboxes of one owner may send and receive in a day"),
      idleMs: time(1000, DAY_MS)
        .default(5 * MINUTE_MS)
        .describe("Time after which an idle connection is closed"),
      dialMs: time(100, HOUR_MS).default(15_000).describe("Maximum time for resolving a name, and again for connecting to its addresses"),
      resolvers: addresses()
        .optional()
        .describe("DNS servers, comma-separated, each as address or address:port. Default: the resolver of the host"),
      certificates: absolutePath()
        .optional()
        .describe("File with additional certificates (PEM) that Belljar trusts for its own TLS connections"),
    })
    .prefault({});
}
