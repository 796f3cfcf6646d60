import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/client";
import { settleWithin } from "../../../async/settle-within.ts";
import { BelljarError } from "../../../errors.ts";
import { errnoOf } from "../../../files/file-error.ts";
import type { StdioTarget } from "../config/resolve-server.ts";
import { LastLines } from "./last-lines.ts";

/** Time to end by itself after its stdin has ended, and again after SIGTERM. */
const GRACE_MS = 2000;

/**
 * MCP with a program on its standard streams. The program is the head of a process group of its own. `close` ends the whole group: first
 * by the end of stdin, then by SIGTERM, then by SIGKILL. Its stderr is always read; what it says on stdout that is no MCP is passed over.
 * The getters `stderr` and `pid` tell the SDK that this is stdio.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = null;
  readonly #target: StdioTarget;
  readonly #input = new ReadBuffer();
  readonly #said = new LastLines();
  #child: ChildProcessWithoutNullStreams | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #failure: BelljarError | undefined;

  constructor(target: StdioTarget) {
    this.#target = target;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

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

  /** How the program ended, if it did. */
  ending(): string | undefined {
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    if (signalCode !== null) return `it was ended by ${signalCode}`;
    return exitCode === null ? undefined : `it ended with exit code ${exitCode}`;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#target;
    const child = spawn(command, args, { env, cwd, stdio: "pipe", detached: true, windowsHide: true });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => this.#said.add(chunk));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", (error) => this.onerror?.(error));
    child.on("close", () => this.onclose?.());
    this.#closed = once(child, "close").catch(() => undefined);
    try {
      await once(child, "spawn");
    } catch (cause) {
      throw notStarted(this.#target, cause);
    }
    process.on("exit", this.#kill);
    child.once("exit", () => void process.off("exit", this.#kill));
    // What the program started may hold its streams open for ever.
    child.once("exit", () => void this.close());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new BelljarError("SERVER_UNREACHABLE", `The server "${this.#target.name}" has ended`);
    if (!stdin.write(serializeMessage(message))) await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  }

  /** Resolves when no process of the group is left. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const isOver = child.exitCode !== null || child.signalCode !== null;
    const exited: Promise<unknown> = isOver ? Promise.resolve() : once(child, "exit");
    child.stdin.end();
    const wait = async (until: Promise<unknown>): Promise<boolean> => (await settleWithin(until, { timeoutMs: GRACE_MS })) === "late";
    if ((await wait(exited)) && signalGroup(child.pid, "SIGTERM")) await wait(exited);
    // Also after an orderly end: what the program started may have stayed.
    signalGroup(child.pid, "SIGKILL");
    await exited;
    await wait(this.#closed);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#input.clear();
  }

  readonly #kill = (): void => {
    if (this.#child?.pid !== undefined) signalGroup(this.#child.pid, "SIGKILL");
  };

  #read(chunk: Buffer): void {
    try {
      this.#input.append(chunk);
    } catch (cause) {
      // A message above the SDK's bound: what follows could not be told from its rest.
      this.#failure = new BelljarError("RESULT_TOO_LARGE", `The server "${this.#target.name}" sent a message that is too large`, { cause });
      this.onerror?.(this.#failure);
      void this.close();
      return;
    }
    let isMore = true;
    while (isMore) isMore = this.#readMessage();
  }

  /** False once there is no whole message left. A line of JSON that is no MCP is passed over, as lines of a log are. */
  #readMessage(): boolean {
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

/** False if no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (cause) {
    if (errnoOf(cause) === "ESRCH" || errnoOf(cause) === "EPERM") return false;
    throw cause;
  }
}

function notStarted({ name, command, cwd }: StdioTarget, cause: unknown): BelljarError {
  const code = errnoOf(cause) ?? "unknown error";
  const advice =
    code === "ENOENT"
      ? `there is no program ${command}${cwd === undefined ? "" : `, or no folder ${cwd}`}: install it, or write its whole path`
      : `${command} cannot be started (${code})`;
  return new BelljarError("SERVER_UNREACHABLE", `The server "${name}" did not start: ${advice}`, { cause });
}
