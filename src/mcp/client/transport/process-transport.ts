import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { settleWithin } from "../../../async/settle-within.ts";
import { BelljarError } from "../../../errors.ts";
import { errnoOf } from "../../../files/file-error.ts";
import type { StdioTarget } from "../config/resolve-server.ts";
import { ProgramTransport } from "./program-transport.ts";

/** Time to end by itself after its stdin has ended, and again after SIGTERM. */
const GRACE_MS = 2000;

/**
 * MCP with a program of this machine. It is the head of a process group of its own. `close` ends the whole group: first by the end of stdin,
 * then by SIGTERM, then by SIGKILL.
 */
export class ProcessTransport extends ProgramTransport {
  readonly #target: StdioTarget;
  #child: ChildProcessWithoutNullStreams | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(target: StdioTarget) {
    super(target.name);
    this.#target = target;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** How the program ended, if it did. */
  ending(): string | undefined {
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    if (signalCode !== null) return `was ended by ${signalCode}`;
    return exitCode === null ? undefined : `ended with exit code ${exitCode}`;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#target;
    const child = spawn(command, args, { env, cwd, stdio: "pipe", detached: true, windowsHide: true });
    this.#child = child;
    child.stderr.on("data", this.heardError);
    this.hear(child.stdout);
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
    this.forget();
  }

  readonly #kill = (): void => {
    if (this.#child?.pid !== undefined) signalGroup(this.#child.pid, "SIGKILL");
  };

  protected stdin(): Writable | undefined {
    return this.#child?.stdin;
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
