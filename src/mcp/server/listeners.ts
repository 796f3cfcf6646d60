import type { ServerResponse } from "node:http";
import type { McpHttpHandler, ServerEvent } from "@modelcontextprotocol/server";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Concerns } from "./resource-door.ts";

interface Entry {
  readonly principal: Principal;
  readonly handler: McpHttpHandler;
  openStreams: number;
}

/**
 * The streams of `subscriptions/listen`: one SDK handler for each principal, with its grants, that has one open, so that an event reaches
 * those alone whom it concerns. The SDK's own bus would tell everybody who guesses a URI.
 */
export class Listeners {
  readonly #create: () => McpHttpHandler;
  readonly #entries = new Map<string, Entry>();

  constructor(create: () => McpHttpHandler) {
    this.#create = create;
  }

  /** The handler that serves a principal's stream; it is kept until the last of its responses has closed. */
  open(principal: Principal, response: ServerResponse): McpHttpHandler {
    const key = JSON.stringify(principal);
    const entry = this.#entries.get(key) ?? { principal, handler: this.#create(), openStreams: 0 };
    this.#entries.set(key, entry);
    entry.openStreams += 1;
    response.once("close", () => {
      entry.openStreams -= 1;
      if (entry.openStreams === 0 && this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry.handler;
  }

  /** To everybody whom it concerns. */
  publish(event: ServerEvent, concerns: Concerns = () => true): void {
    for (const { principal, handler } of this.#entries.values()) if (concerns(principal)) handler.bus.publish(event);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ handler }) => handler.close()));
  }
}
