import { onTestFinished } from "vitest";
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { EventEmitter, on, once } from "node:events";
import { resolve } from "node:path";
import type { Duplex } from "node:stream";

export const PYTHON_KERNEL = resolve(import.meta.dirname, "../../dist/kernels/python-kernel.py");

export interface KernelMessage {
  readonly type: string;
  readonly run?: string;
  readonly text?: string;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
  readonly execution_count?: number;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface KernelRun {
  /** All between "started" and "done". */
  readonly messages: readonly KernelMessage[];
  readonly stdout: string;
  readonly stderr: string;
  readonly result: Readonly<Record<string, unknown>> | undefined;
  readonly displays: readonly Readonly<Record<string, unknown>>[];
  readonly error: KernelMessage | undefined;
  readonly count: number | undefined;
  /** What came through the pipes before the marks. */
  readonly pipes: readonly [stdout: string, stderr: string];
}

export interface RunRequest {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly forms?: "e2b";
}

export interface StartOptions {
  readonly python?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The real program, with a host that speaks its channel. It is killed with its children when it is disposed. */
export function startPythonKernel(options: StartOptions = {}): PythonKernel {
  const env = { ...process.env, ...options.env };
  const stdio = ["ignore", "pipe", "pipe", "pipe"] as const;
  return new PythonKernel(
    spawn(options.python ?? "python3", [...(options.args ?? []), PYTHON_KERNEL], { env, stdio: [...stdio], detached: true }),
  );
}

export class PythonKernel implements AsyncDisposable {
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #changes = new EventEmitter();
  readonly #messages: KernelMessage[] = [];
  readonly #pipes: [string, string] = ["", ""];
  #line = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#changes.setMaxListeners(0);
    // A test that runs out of time disposes nothing.
    onTestFinished(() => this[Symbol.asyncDispose]());
    this.ended = once(child, "close").then(([code]) => code as number | null);
    void this.ended.then(() => this.#changes.emit("change"));
    this.#channel.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    this.#channel.on("error", () => this.#changes.emit("change"));
    for (const [index, pipe] of [child.stdout, child.stderr].entries()) {
      pipe?.setEncoding("utf8").on("data", (text: string) => {
        this.#pipes[index as 0 | 1] += text;
        this.#changes.emit("change");
      });
    }
  }

  get #channel(): Duplex {
    return this.#child.stdio[3] as unknown as Duplex;
  }

  #take(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#messages.push(JSON.parse(line) as KernelMessage);
    this.#changes.emit("change");
  }

  /** Bytes that no host would send. */
  sendRaw(data: string | Buffer): void {
    this.#channel.write(data);
  }

  start(code: string, request: RunRequest = {}): string {
    const run = randomBytes(16).toString("hex");
    this.#channel.write(`\n${JSON.stringify({ run, code, env: {}, ...request })}\n`);
    return run;
  }

  async run(code: string, request: RunRequest = {}): Promise<KernelRun> {
    return await this.outcome(this.start(code, request));
  }

  /** Waits for a run's last message, and for its marks on both pipes. */
  async outcome(run: string): Promise<KernelRun> {
    const mark = `${run}\n`;
    await this.#until(
      () => this.#messages.some((each) => each.type === "done" && each.run === run) && this.#pipes.every((text) => text.includes(mark)),
    );
    const from = this.#messages.findIndex((each) => each.type === "started" && each.run === run);
    const to = this.#messages.findIndex((each) => each.type === "done" && each.run === run);
    const messages = this.#messages.slice(from + 1, to);
    const count = this.#messages[to]?.execution_count;
    this.#messages.splice(0, to + 1);
    return { ...told(messages), messages, count, pipes: [this.#cutPipe(0, mark), this.#cutPipe(1, mark)] };
  }

  #cutPipe(index: 0 | 1, mark: string): string {
    const [before = "", ...after] = this.#pipes[index].split(mark);
    this.#pipes[index] = after.join(mark);
    return before;
  }

  /** Waits until a run was taken up. */
  async begun(run: string): Promise<void> {
    await this.#until(() => this.#messages.some((each) => each.type === "started" && each.run === run));
  }

  /** Waits until a run has printed this text. */
  async printed(text: string): Promise<void> {
    await this.#until(() => this.#messages.some((each) => each.text?.includes(text)));
  }

  /** Waits until Python has forgotten this many errors that were raised where nothing can catch them. */
  async dropped(count: number): Promise<void> {
    await this.#until(() => this.#messages.filter((each) => each.text?.includes("Exception ignored in")).length >= count);
  }

  async #until(isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    for await (const _ of on(this.#changes, "change")) {
      if (isDone()) return;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw new Error(`The kernel ended: ${this.#pipes.join("\n")}`);
    }
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  /** Closes the host's end of the channel. */
  hangUp(): void {
    this.#channel.destroy();
  }

  /** Stops reading what the kernel says, as a host that went away does. */
  stopReading(): void {
    this.#channel.pause();
  }

  readAgain(): void {
    this.#channel.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const hasEnded = this.#child.exitCode !== null || this.#child.signalCode !== null;
    if (this.#child.pid !== undefined && !hasEnded) process.kill(-this.#child.pid, "SIGKILL");
    await this.ended;
  }
}

function told(messages: readonly KernelMessage[]): Omit<KernelRun, "messages" | "count" | "pipes"> {
  const textOf = (type: string): string =>
    messages
      .filter((each) => each.type === type)
      .map(({ text }) => text)
      .join("");
  return {
    stdout: textOf("stdout"),
    stderr: textOf("stderr"),
    result: messages.find(({ type }) => type === "result")?.data,
    displays: messages.filter(({ type }) => type === "display").map(({ data }) => data ?? {}),
    error: messages.find(({ type }) => type === "error"),
  };
}
