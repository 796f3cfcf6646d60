import { once } from "node:events";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { LastLines } from "./last-lines.ts";

/**
 * MCP with a program on its standard streams, wherever it runs. What it says on stdout that is no MCP is passed over. The getters `stderr` and
 * `pid` tell the SDK that this is stdio.
 */
export abstract class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Is given what the program writes to stderr. */
  onsaid?: (chunk: Buffer) => void;
  readonly stderr = null;
  /** The server's name, for errors. */
  readonly #name: string;
  readonly #input = new ReadBuffer();
  readonly #said = new LastLines();
  #failure: BelljarError | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  abstract get pid(): number | null;
  abstract start(): Promise<void>;
  /** Resolves when nothing of the program is left. */
  abstract close(): Promise<void>;
  /** How the program ended, if it did. */
  abstract ending(): string | undefined;
  /** Undefined before the program has started. */
  protected abstract stdin(): Writable | undefined;

  /** Why the program was ended, if that was for what it sent. */
  failure(): BelljarError | undefined {
    return this.#failure;
  }

  /** The error of a request to a program that has ended: with how it ended, and the last lines of its stderr. */
  explain(cause: unknown): unknown {
    if (this.#failure) return this.#failure;
    if (!(cause instanceof BelljarError) || cause.code === "CANCELLED") return cause;
    const parts = [this.ending(), ...this.#said.lines()].filter((part) => part !== undefined);
    return parts.length === 0 ? cause : new BelljarError(cause.code, [cause.message, ...parts].join("\n  "), { cause });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.stdin();
    if (!stdin?.writable) throw new BelljarError("SERVER_UNREACHABLE", `The server "${this.#name}" has ended`);
    if (!stdin.write(serializeMessage(message))) await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  }

  protected readonly heardError = (chunk: Buffer): void => {
    this.#said.add(chunk);
    this.onsaid?.(chunk);
  };

  protected readonly heard = (chunk: Buffer): void => {
    try {
      this.#input.append(chunk);
    } catch (cause) {
      // A message above the SDK's bound: what follows could not be told from its rest.
      this.#failure = new BelljarError("RESULT_TOO_LARGE", `The server "${this.#name}" sent a message that is too large`, { cause });
      this.onerror?.(this.#failure);
      void this.close();
      return;
    }
    let isMore = true;
    while (isMore) isMore = this.#giveMessage();
  };

  /** Drops what came of a message that will not end. */
  protected forget(): void {
    this.#input.clear();
  }

  /** False once there is no whole message left. A line of JSON that is no MCP is passed over, as lines of a log are. */
  #giveMessage(): boolean {
    try {
      const message = this.#input.readMessage();
      if (message === null) return false;
      this.onmessage?.(message);
    } catch (cause) {
      this.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
    }
    return true;
  }
}
