import type { ServerResponse } from "node:http";
import type { McpHttpHandler, ServerEvent } from "@modelcontextprotocol/server";

interface Entry {
  readonly handler: McpHttpHandler;
  openStreams: number;
}

/**
 * The streams of `subscriptions/listen`: one SDK handler for each principal that has one open, so that an event reaches those alone
 * whom it concerns. The SDK's own bus would tell everybody who guesses a URI.
 */
export class Listeners {
  readonly #create: () => McpHttpHandler;
  readonly #entries = new Map<string, Entry>();

  constructor(create: () => McpHttpHandler) {
    this.#create = create;
  }

  /** The handler that serves a principal's stream; it is kept until the last of its responses has closed. */
  open(principalId: string, response: ServerResponse): McpHttpHandler {
    const entry = this.#entries.get(principalId) ?? { handler: this.#create(), openStreams: 0 };
    this.#entries.set(principalId, entry);
    entry.openStreams += 1;
    response.once("close", () => {
      entry.openStreams -= 1;
      if (entry.openStreams === 0 && this.#entries.get(principalId) === entry) this.#entries.delete(principalId);
    });
    return entry.handler;
  }

  /** To everybody. */
  publish(event: ServerEvent): void {
    for (const { handler } of this.#entries.values()) handler.bus.publish(event);
  }

  publishTo(principalId: string, event: ServerEvent): void {
    this.#entries.get(principalId)?.handler.bus.publish(event);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ handler }) => handler.close()));
  }
}
