import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createCalls } from "./calls.ts";
import { HeldCalls } from "./held-calls.ts";
import { Listening, watchListened } from "./listened.ts";
import { createConnectionServer } from "./server.ts";
import type { McpServerOptions } from "./server-options.ts";
import { StoredLists } from "./stored-lists.ts";
import type { Caller } from "../../catalog/caller.ts";

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
  const { caller, output = process.stdout } = options;
  const calls = createCalls();
  const held = new HeldCalls<unknown>(calls);
  const lists = new StoredLists();
  const listening = new Listening();
  const id = randomUUID();
  const transport = new ListingTransport(lists, options.input ?? process.stdin, output);
  const connection = serveStdio(() => createConnectionServer(options, { caller, calls, held, lists, id }), {
    transport,
    onerror: options.onError,
  });
  const deliver = transport.onmessage;
  transport.onmessage = (message) => {
    lists.expect(message);
    watchListened(options, { principal: caller.principal, clientId: id, signal: listening.signalOf(message) }, message);
    deliver?.(message);
  };
  const closed = new Promise<void>((resolve) => {
    const close = transport.onclose;
    transport.onclose = () => {
      close?.();
      listening[Symbol.dispose]();
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

/** What may wait for a client that does not read; past it nothing more is asked of us until it has read all. */
const UNREAD_MAX_BYTES = 4 * 1_048_576;

/** Writes stored lists as they are, and takes no requests of a client that leaves its answers unread. */
class ListingTransport extends StdioServerTransport {
  readonly #lists: StoredLists;
  readonly #input: Readable;
  readonly #output: Writable;

  constructor(lists: StoredLists, input: Readable, output: Writable) {
    super(input, output);
    this.#lists = lists;
    this.#input = input;
    this.#output = output;
  }

  override send(message: JSONRPCMessage): Promise<void> {
    const sent = this.#write(message);
    if (this.#output.writableLength > UNREAD_MAX_BYTES && !this.#input.isPaused()) {
      this.#input.pause();
      this.#output.once("drain", () => this.#input.resume());
    }
    return sent;
  }

  #write(message: JSONRPCMessage): Promise<void> {
    const line = this.#lists.completeLine(message) ?? `${JSON.stringify(message)}\n`;
    return new Promise((resolve, reject) => {
      this.#output.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }
}
