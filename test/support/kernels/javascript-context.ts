import { onTestFinished } from "vitest";
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** With the flag, Node lives through code that is broken off within a callback. */
const ARGUMENTS = ["--no-force-async-hooks-checks", resolve(import.meta.dirname, "../../../dist/kernels/javascript-kernel.mjs")];

export interface KernelMessage {
  readonly type: string;
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
  readonly run?: string;
  readonly execution_count?: number;
}

export interface RunOptions {
  readonly language?: "javascript" | "typescript";
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Sends SIGINT as soon as the code has printed `ready`, and again every 500 ms, as the host does, until the run is over. */
  readonly interrupt?: boolean;
}

/** `interrupts` of the row in `src/interpreter/lasting/kernels.ts`, in two seconds. */
const INTERRUPT_AGAIN_MS = 500;

/** A kernel as Belljar's guest starts it: a socket on descriptor 3, pipes for its output, nothing to read. */
export class JavascriptContext implements AsyncDisposable {
  readonly folder: string;
  readonly child: ChildProcess;
  readonly channel: Socket;
  /** Every line that came, also those of no run. */
  readonly lines: string[] = [];
  readonly #ended: Promise<unknown>;
  readonly #pipes: Readable[];
  #raw = "";
  #hear: (message: KernelMessage) => void = () => undefined;

  static async open(options: { readonly env?: NodeJS.ProcessEnv } = {}): Promise<JavascriptContext> {
    return new JavascriptContext(await realpath(await mkdtemp(join(tmpdir(), "belljar-kernel-"))), options.env);
  }

  private constructor(folder: string, env: NodeJS.ProcessEnv = process.env) {
    this.folder = folder;
    this.child = spawn(process.execPath, ARGUMENTS, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe", "pipe"] });
    this.channel = this.child.stdio[3] as Socket;
    // A test that runs out of time disposes nothing, and code without end would go on.
    onTestFinished(() => void this.child.kill("SIGKILL"));
    this.#ended = once(this.child, "exit");
    this.#pipes = [this.child.stdout, this.child.stderr].filter((pipe) => pipe !== null);
    for (const pipe of this.#pipes) pipe.on("data", (chunk: Buffer) => (this.#raw += chunk.toString()));
    const lines = createInterface({ input: this.channel, crlfDelay: Infinity });
    lines.on("line", (line) => this.#read(line));
    for (const end of [this.channel, lines]) end.on("error", () => undefined);
  }

  /** What came on the pipes of stdout and stderr, the marks too. */
  get raw(): string {
    return this.#raw;
  }

  /** Resolves once the pipes have shown a text. */
  async rawWith(text: string): Promise<void> {
    while (!this.#raw.includes(text)) await Promise.race(this.#pipes.map((pipe) => once(pipe, "data")));
  }

  get exit(): Promise<{ readonly code: number | null; readonly signal: string | null }> {
    return this.#ended.then(() => ({ code: this.child.exitCode, signal: this.child.signalCode }));
  }

  /** What a run told, without its first and last line. */
  async run(code: string, options: RunOptions = {}): Promise<KernelMessage[]> {
    return (await this.runWhole(code, options)).slice(1, -1);
  }

  async runWhole(code: string, { interrupt = false, ...fields }: RunOptions = {}): Promise<KernelMessage[]> {
    const run = randomBytes(16).toString("hex");
    const messages: KernelMessage[] = [];
    let again: NodeJS.Timeout | undefined;
    const done = new Promise<KernelMessage[]>((settle) => {
      this.#hear = (message) => {
        if (messages.length === 0 && message.run !== run) return;
        messages.push(message);
        if (interrupt && message.text?.includes("ready")) {
          interrupt = !this.child.kill("SIGINT");
          again = setInterval(() => this.child.kill("SIGINT"), INTERRUPT_AGAIN_MS);
        }
        if (message.type === "done") settle(messages);
      };
    });
    this.write(`\n${JSON.stringify({ run, code, env: {}, ...fields })}\n`);
    const gone = this.#ended.then(() =>
      Promise.reject(new Error(`The kernel ended (${this.child.exitCode ?? this.child.signalCode}): ${this.#raw}`)),
    );
    return Promise.race([done, gone]).finally(() => clearInterval(again));
  }

  /** The value of a run's last expression as a text, or its error's name and message. */
  async value(code: string, options: RunOptions = {}): Promise<string> {
    const told = (await this.run(code, options)).at(-1);
    return told?.type === "error" ? `${told.name}: ${told.message}` : String(told?.data?.["text/plain"]);
  }

  write(text: string): void {
    this.channel.write(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.#ended;
    await rm(this.folder, { recursive: true });
  }

  #read(line: string): void {
    this.lines.push(line);
    const message = toMessage(line);
    if (message) this.#hear(message);
  }
}

/** As the host does: a line that an interrupt broke off is no message. */
function toMessage(line: string): KernelMessage | undefined {
  try {
    return JSON.parse(line) as KernelMessage;
  } catch {
    return undefined;
  }
}
