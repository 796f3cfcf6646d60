import { once } from "node:events";
import type { Writable } from "node:stream";
import type { ToolResult } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { HarnessMessage } from "./harness-messages.ts";

/** As a harness reads them. */
const LINE_MAX_BYTES = 8 * 1_048_576;

export type CallTool = (name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<ToolResult>;

type CallMessage = Extract<HarnessMessage, { type: "call" }>;

export interface CallBounds {
  /** In all. */
  readonly most: number;
  /** At once. Others wait. */
  readonly concurrent: number;
}

/** Of one call of a tool. */
export const TOOL_CALLS: CallBounds = { most: 100, concurrent: 1 };

export interface HarnessCallsOptions {
  readonly bounds?: CallBounds | undefined;
  /** Absent: the code calls nothing. */
  readonly callTool?: CallTool | undefined;
  readonly channel: Writable;
  /** A fault of this program's, inside a called tool. */
  readonly onFault: (cause: unknown) => void;
}

/**
 * Calls tools for a code, in its order and at most so many at once, and answers on its channel, a line each. A call begins once the code has
 * taken the answer in whose place it comes. What the code asks for is its own wish, whoever wrote the line. Disposing ends the calls that run, and
 * waits for them.
 */
export class HarnessCalls implements AsyncDisposable {
  readonly #options: HarnessCallsOptions;
  readonly #bounds: CallBounds;
  readonly #ended = new AbortController();
  readonly #waiting: { readonly message: CallMessage; readonly isTooMany: boolean }[] = [];
  readonly #running = new Set<Promise<void>>();
  #count = 0;

  constructor(options: HarnessCallsOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? TOOL_CALLS;
  }

  /** Returns false if the code has asked too often, and was told so before. */
  take(message: CallMessage): boolean {
    const { most, concurrent } = this.#bounds;
    if ((this.#count += 1) > most + 1) return false;
    this.#waiting.push({ message, isTooMany: this.#count > most });
    if (this.#running.size < concurrent) this.#begin();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#running);
  }

  #begin(): void {
    const running = this.#answerAll()
      .catch((cause: unknown) => this.#fail(cause))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #answerAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await this.#answer(next.message, next.isTooMany);
  }

  async #answer({ id, tool, arguments: args }: CallMessage, isTooMany: boolean): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) return;
    const answer = isTooMany ? failed(tooManyCalls(this.#bounds)) : await this.#call(tool, args);
    // The code has ended: what reads there next is not it.
    if (this.#ended.signal.aborted) return;
    const line = JSON.stringify({ id, ...answer });
    const fits = Buffer.byteLength(line) < LINE_MAX_BYTES;
    const sent = fits ? line : JSON.stringify({ id, ...failed(new BelljarError("RESULT_TOO_LARGE", "The result has over 8 MiB")) });
    if (!this.#options.channel.write(`${sent}\n`)) await once(this.#options.channel, "drain", { signal });
  }

  #fail(cause: unknown): void {
    if (!this.#ended.signal.aborted) this.#options.onFault(cause);
  }

  async #call(tool: string, args: Readonly<Record<string, unknown>>): Promise<object> {
    try {
      const { callTool } = this.#options;
      if (!callTool) throw new BelljarError("NOT_SUPPORTED", "A tool calls no other tools in its tests");
      const { value, content, isError = false } = await callTool(tool, args, this.#ended.signal);
      return { value, content, isError };
    } catch (cause) {
      if (cause instanceof BelljarError) return failed(cause);
      throw cause;
    }
  }
}

function failed({ code, message }: BelljarError): object {
  return { isError: true, value: { code, message }, content: [{ type: "text", text: `${code}: ${message}` }] };
}

export function tooManyCalls({ most }: CallBounds): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `One call of a tool makes at most ${most} calls of others`);
}
