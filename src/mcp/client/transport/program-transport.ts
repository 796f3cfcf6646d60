import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { SdkError, SdkErrorCode, serializeMessage } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { LastLines } from "./last-lines.ts";
import { MessageLines } from "./message-lines.ts";
import { Pace } from "./pace.ts";

/** Beyond them a program that does not read what it is sent is sent no more. */
const UNREAD_MAX = {
  requests: { bytes: 64 * 1_048_576, messages: 10_000 },
  answers: { bytes: 16 * 1_048_576, messages: 10_000 },
} as const;

/** Messages that wait for the program to read them. */
interface Unread {
  bytes: number;
  messages: number;
}

/**
 * MCP with a program on its standard streams, wherever it runs. What it says on stdout that is no MCP is passed over. The getters `stderr` and
 * `pid` tell the SDK that this is stdio.
 */
export abstract class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Takes out of what the program writes to stderr what nobody may see. */
  cleans?: (chunk: Buffer) => Buffer;
  /** Is given what the program writes to stderr. */
  onsaid?: (chunk: Buffer) => void;
  readonly stderr = null;
  /** The server's name, for errors. */
  readonly #name: string;
  readonly #input = new MessageLines();
  readonly #pace = new Pace();
  readonly #said = new LastLines();
  readonly #unread: Readonly<Record<keyof typeof UNREAD_MAX, Unread>> = {
    requests: { bytes: 0, messages: 0 },
    answers: { bytes: 0, messages: 0 },
  };
  #failure: BelljarError | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  abstract get pid(): number | null;
  abstract start(): Promise<void>;
  /** Resolves when nothing of the program is left. */
  abstract close(): Promise<void>;
  /** How the program ended, if it did, as `ended with exit code 1`. */
  abstract ending(): string | undefined;
  /** Undefined before the program has started. */
  protected abstract stdin(): Writable | undefined;

  /** Why the program was ended, if that was for what it sent. */
  failure(): BelljarError | undefined {
    return this.#failure;
  }

  /** The error of a request to a program that has ended: first how it ended, then the last lines of its stderr. */
  explain(cause: unknown): unknown {
    if (this.#failure) return this.#failure;
    if (!(cause instanceof BelljarError) || cause.code === "CANCELLED") return cause;
    const ending = this.ending();
    const first =
      ending !== undefined && isOfEnd(cause)
        ? [`The server "${this.#name}" ${ending} before it answered`]
        : [cause.message, ...(ending ? [`it ${ending}`] : [])];
    const text = [...first, ...this.#said.lines()].join("\n  ");
    return text === cause.message ? cause : new BelljarError(cause.code, text, { cause });
  }

  /**
   * Gives the message to the stream, and does not wait. Rejects with `SERVER_INCOMPATIBLE` if the program leaves too much unread. If that is
   * answers, the program is ended: it asks, and does not read. What this side asks may be large and slow to read, so that it is refused alone.
   */
  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.stdin();
    if (this.#failure) throw this.#failure;
    if (!stdin?.writable) throw unsent(this.#name);
    const kind = "method" in message ? "requests" : "answers";
    const unread = this.#unread[kind];
    if (unread.bytes > UNREAD_MAX[kind].bytes || unread.messages >= UNREAD_MAX[kind].messages) throw this.#refuse(kind);
    const line = Buffer.from(serializeMessage(message));
    unread.bytes += line.length;
    unread.messages += 1;
    if ("method" in message && "id" in message) this.#pace.asked();
    stdin.write(line, () => {
      unread.bytes -= line.length;
      unread.messages -= 1;
    });
  }

  /** Resolves when the program has room for more, or is gone. */
  async drained(): Promise<void> {
    const stdin = this.stdin();
    if (stdin?.writableNeedDrain !== true) return;
    const over = new AbortController();
    try {
      await Promise.race(["drain", "close"].map((event) => once(stdin, event, { signal: over.signal })));
    } finally {
      over.abort();
    }
  }

  protected readonly heardError = (chunk: Buffer): void => {
    const shown = this.cleans?.(chunk) ?? chunk;
    this.#said.add(shown);
    this.onsaid?.(shown);
  };

  /** Reads what the program says, and no faster than it may say it. */
  protected hear(stdout: Readable): void {
    stdout.on("data", (chunk: Buffer) => {
      const before = this.#input.tokens;
      this.heard(chunk);
      const pauseMs = this.#pace.took(chunk.length, this.#input.tokens - before);
      if (pauseMs === 0 || this.#failure) return;
      stdout.pause();
      setTimeout(() => stdout.resume(), pauseMs).unref();
    });
  }

  protected heard(chunk: Buffer): void {
    if (this.#failure) return;
    try {
      for (const message of this.#input.read(chunk)) this.#give(message);
    } catch (cause) {
      // What follows could not be told from the rest of this message.
      this.#fail(new BelljarError("RESULT_TOO_LARGE", `The server "${this.#name}" sent a message that is too large`, { cause }));
    }
  }

  /** Drops what came of a message that will not end. */
  protected forget(): void {
    this.#input.clear();
  }

  #refuse(kind: keyof typeof UNREAD_MAX): BelljarError {
    const error = new BelljarError("SERVER_INCOMPATIBLE", `The server "${this.#name}" does not read what it is sent`);
    if (kind === "answers") this.#fail(error);
    return error;
  }

  #fail(error: BelljarError): void {
    this.#failure = error;
    this.onerror?.(error);
    void this.close();
  }

  #give(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (cause) {
      this.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }
}

/** The errors of messages that found no program any more. */
const UNSENT = new WeakSet<object>();

function unsent(name: string): BelljarError {
  const error = new BelljarError("SERVER_UNREACHABLE", `The server "${name}" has ended`);
  UNSENT.add(error);
  return error;
}

/** Whether a request failed because the program has ended: before the message came to it, or before its answer. */
function isOfEnd(error: BelljarError): boolean {
  const { cause } = error;
  return (
    UNSENT.has(error) ||
    (cause instanceof Error && UNSENT.has(cause)) ||
    (cause instanceof SdkError && cause.code === SdkErrorCode.ConnectionClosed)
  );
}
