import type { Readable, Writable } from "node:stream";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createCalls } from "./calls.ts";
import { createConnectionServer } from "./server.ts";
import type { McpServerOptions } from "./server.ts";
import type { Caller } from "./tool-door.ts";

export interface StdioServerOptions extends McpServerOptions {
  readonly caller: Caller;
  /** Default: the process's own. Nothing but MCP may be written to `output`. */
  readonly input?: Readable;
  readonly output?: Writable;
}

export interface StdioServer {
  /** Resolves when the client has gone (its end of `input`) or `close` was called, and every call in flight has cleaned up. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Serves MCP, both eras, over one pair of streams. Calls in flight are aborted when the client goes. */
export function serveMcpStdio(options: StdioServerOptions): StdioServer {
  const calls = createCalls();
  const transport = new StdioServerTransport(options.input, options.output);
  const connection = serveStdio(() => createConnectionServer(options, options.caller, calls), { transport, onerror: options.onError });
  const closed = new Promise<void>((resolve) => {
    const close = transport.onclose;
    transport.onclose = () => {
      close?.();
      void calls.stop(0).then(resolve);
    };
  });
  return {
    closed,
    async close() {
      await connection.close();
      await closed;
    },
  };
}
