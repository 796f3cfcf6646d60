import { once } from "node:events";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { serializeMessage } from "@modelcontextprotocol/client";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { ExecExit, ExecProcess } from "../../sandbox/sandbox.ts";
import { LastLines } from "../client/transport/last-lines.ts";
import { MessageReader } from "../client/transport/message-reader.ts";
import type { ProgramTransport } from "../client/transport/program-transport.ts";

/** Time to end by itself after its stdin has ended. Then its sandbox ends it. */
const GRACE_MS = 1_000;

export interface SandboxTransportOptions {
  /** The server's name, for errors. */
  readonly name: string;
  /** Starts the program. The signal ends it. */
  readonly start: (signal: AbortSignal) => Promise<ExecProcess>;
}

/** MCP with a program in a sandbox, on its standard streams. Its stderr is always read; what it says on stdout that is no MCP is passed over. */
export class SandboxTransport implements ProgramTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = null;
  readonly #options: SandboxTransportOptions;
  readonly #messages: MessageReader;
  readonly #said = new LastLines();
  readonly #life = new AbortController();
  #process: ExecProcess | undefined;
  #exit: ExecExit | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SandboxTransportOptions) {
    this.#options = options;
    this.#messages = new MessageReader(options.name, this);
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  lastLines(): readonly string[] {
    return this.#said.lines();
  }

  ending(): string | undefined {
    if (!this.#exit) return undefined;
    const { exitCode, signal } = this.#exit;
    return exitCode === undefined ? `it was ended by ${signal ?? "a signal"}` : `it ended with exit code ${exitCode}`;
  }

  async start(): Promise<void> {
    const process = await this.#options.start(this.#life.signal);
    this.#process = process;
    process.stderr.on("data", (chunk: Buffer) => this.#said.add(chunk));
    process.stdout.on("data", (chunk: Buffer) => this.#messages.read(chunk) || void this.close());
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on("error", (error) => this.onerror?.(error));
    void process.exited.then(
      (exit) => this.#over(exit),
      () => this.#over(),
    );
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (!stdin?.writable) throw new BelljarError("SERVER_UNREACHABLE", `The server "${this.#options.name}" has ended`);
    if (!stdin.write(serializeMessage(message))) await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  }

  /** Resolves when the program has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  #over(exit?: ExecExit): void {
    this.#exit = exit;
    this.onclose?.();
    void this.close();
  }

  async #end(): Promise<void> {
    this.#process?.stdin.end();
    if (this.#process)
      await settleWithin(
        this.#process.exited.catch(() => undefined),
        { timeoutMs: GRACE_MS },
      );
    this.#life.abort();
    await this.#process?.[Symbol.asyncDispose]();
    this.#messages.clear();
  }
}
