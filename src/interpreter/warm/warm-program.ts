import type { ExecExit, ExecProcess } from "../../sandbox/sandbox.ts";

const SIGKILL = 9;

export interface WarmRun {
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
}

/** An interpreter that has started and waits for its program, of which nothing has run. It runs one, or a tool. */
export class WarmProgram {
  readonly #process: ExecProcess;

  constructor(process: ExecProcess) {
    this.#process = process;
  }

  /** Lets it go on to its program, whose file is there now. Rejects as a run of the guest does. */
  async run({ env, input, timeoutMs, signal, onOutput }: WarmRun): Promise<ExecExit> {
    const { stdin, stdout, stderr, exited } = this.#process;
    let timedOut = false;
    // Whoever closes the stream ends the program.
    const cancel = (): void => void this.discard();
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    const startedAt = performance.now();
    const timer = setTimeout(() => ((timedOut = true), this.#process.kill(SIGKILL)), timeoutMs);
    stdout.on("data", (chunk: Buffer) => void onOutput("stdout", chunk));
    stderr.on("data", (chunk: Buffer) => void onOutput("stderr", chunk));
    try {
      this.#goOn({ env });
      stdin.end(input);
      return { ...(await exited), timedOut, durationMs: performance.now() - startedAt };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      await this.discard();
    }
  }

  /** Lets it go on as the harness of users' tools, which reads an order on its stdin. The process is the caller's; the signal ends it. */
  asHarness(env: WarmRun["env"], signal: AbortSignal): ExecProcess {
    signal.addEventListener("abort", () => void this.discard(), { once: true });
    if (signal.aborted) void this.discard();
    this.#goOn({ env, tool: true });
    return this.#process;
  }

  /** A program may end without reading what it is given. */
  #goOn(wish: { readonly env: WarmRun["env"]; readonly tool?: true }): void {
    const { stdin, channels } = this.#process;
    for (const stream of [stdin, ...channels]) stream.on("error", ignore);
    channels[0]?.write(`${JSON.stringify(wish)}\n`);
  }

  /** Ends it, unless it has ended. */
  async discard(): Promise<void> {
    for (const stream of [this.#process.stdin, ...this.#process.channels]) stream.on("error", ignore);
    await this.#process[Symbol.asyncDispose]();
  }
}

function ignore(): void {}
