import type { Writable } from "node:stream";
import { settleWithin } from "../../async/settle-within.ts";
import type { ExecExit, ExecProcess } from "../../sandbox/sandbox.ts";
import { ProgramTransport } from "../client/transport/program-transport.ts";

/** Time to end by itself after its stdin has ended. Then it is killed. */
const GRACE_MS = 1_000;

/** MCP with a program in a sandbox. */
export class SandboxTransport extends ProgramTransport {
  readonly #start: (signal: AbortSignal) => Promise<ExecProcess>;
  readonly #life = new AbortController();
  #process: ExecProcess | undefined;
  #exit: ExecExit | undefined;
  #closing: Promise<void> | undefined;

  /** `start` starts the program of the server of that name. The signal ends it. */
  constructor(name: string, start: (signal: AbortSignal) => Promise<ExecProcess>) {
    super(name);
    this.#start = start;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  ending(): string | undefined {
    if (!this.#exit) return undefined;
    const { exitCode, signal } = this.#exit;
    return exitCode === undefined ? `was ended by ${signal ?? "a signal"}` : `ended with exit code ${exitCode}`;
  }

  async start(): Promise<void> {
    const process = await this.#start(this.#life.signal);
    this.#process = process;
    process.stderr.on("data", this.heardError);
    this.hear(process.stdout);
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on("error", (error) => this.onerror?.(error));
    void process.exited.then(
      (exit) => this.#over(exit),
      () => this.#over(),
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  protected stdin(): Writable | undefined {
    return this.#process?.stdin;
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
    this.forget();
  }
}
