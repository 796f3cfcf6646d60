import { once } from "node:events";
import type { Writable } from "node:stream";
import type { ToolResult } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { HarnessMessage } from "./harness-messages.ts";

/** Of one call of the code. */
const CALLS_MAX = 100;
/** As a harness reads them. */
const LINE_MAX_BYTES = 8 * 1_048_576;

export type CallTool = (name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<ToolResult>;

type CallMessage = Extract<HarnessMessage, { type: "call" }>;

export interface HarnessCallsOptions {
  /** Absent: the code calls nothing. */
  readonly callTool?: CallTool | undefined;
  readonly channel: Writable;
  /** A fault of this program's, inside a called tool. */
  readonly onFault: (cause: unknown) => void;
}

/**
 * Calls tools for a code, and answers on its channel: one after the other, a line each, and the next one once the code has taken the answer.
 * What the code asks for is its own wish, whoever wrote the line. Disposing ends the call that runs, and waits for it.
 */
export class HarnessCalls implements AsyncDisposable {
  readonly #options: HarnessCallsOptions;
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #count = 0;

  constructor(options: HarnessCallsOptions) {
    this.#options = options;
  }

  /** Returns false if the code has asked too often, and was told so before. */
  take(message: CallMessage): boolean {
    if ((this.#count += 1) > CALLS_MAX + 1) return false;
    const isLast = this.#count > CALLS_MAX;
    this.#running = this.#running.then(() => this.#answer(message, isLast)).catch((cause: unknown) => this.#fail(cause));
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #answer({ tool, arguments: args }: CallMessage, isTooMany: boolean): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) return;
    const answer = isTooMany ? failed(tooManyCalls()) : await this.#call(tool, args);
    // The code has ended: what reads there next is not it.
    if (this.#ended.signal.aborted) return;
    const line = JSON.stringify(answer);
    const fits = Buffer.byteLength(line) < LINE_MAX_BYTES;
    const sent = fits ? line : JSON.stringify(failed(new BelljarError("RESULT_TOO_LARGE", "The result has over 8 MiB")));
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

export function tooManyCalls(): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `One call of a tool makes at most ${CALLS_MAX} calls of others`);
}
