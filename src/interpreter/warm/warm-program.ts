import type { ExecExit, ExecProcess } from "../../sandbox/sandbox.ts";

const SIGKILL = 9;

export interface WarmRun {
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
}

interface Wish {
  readonly env: WarmRun["env"];
  /** The arguments of the harness, if that is its program. */
  readonly tool?: readonly string[];
}

const SIZE_DIGITS = 8;

/** As an interpreter that waits reads it. Its size comes first: what follows on the channel may be there already, and is not for it. */
export function toWish(wish: Wish): string {
  const text = JSON.stringify(wish);
  return String(Buffer.byteLength(text)).padStart(SIZE_DIGITS, "0") + text;
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

  /** Lets it go on as the harness of users' tools. The process is the caller's; the signal ends it. */
  asHarness(args: readonly string[], { env, signal }: Pick<WarmRun, "env" | "signal">): ExecProcess {
    signal.addEventListener("abort", () => void this.discard(), { once: true });
    if (signal.aborted) void this.discard();
    this.#goOn({ env, tool: args });
    return this.#process;
  }

  /** A program may end without reading what it is given. */
  #goOn(wish: Wish): void {
    const { stdin, channels } = this.#process;
    for (const stream of [stdin, ...channels]) stream.on("error", ignore);
    channels[0]?.write(toWish(wish));
  }

  /** Ends it, unless it has ended. */
  async discard(): Promise<void> {
    for (const stream of [this.#process.stdin, ...this.#process.channels]) stream.on("error", ignore);
    await this.#process[Symbol.asyncDispose]();
  }
}

function ignore(): void {}
