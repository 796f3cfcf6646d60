import { once } from "node:events";
import { constants } from "node:os";
import type { Writable } from "node:stream";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { ExecExit, ExecProcess, Sandbox } from "../../sandbox/sandbox.ts";
import type { RunningShell } from "../run-shell.ts";
import { assertFew, folderOf, recordBackground } from "./background-processes.ts";
import { CARRY, SUPERVISOR } from "./background-scripts.ts";

export interface LateProcess {
  readonly id: string;
  /** Bytes of output from before it went into the background. */
  readonly printedBytes: number;
}

export interface AdoptOptions {
  readonly command: string;
  readonly cwd: string;
}

/** A program inside may stop every new process, or use up the sandbox's limits: then nothing ever carries the output. */
const ADOPT_TIMEOUT_MS = 10_000;

/**
 * Commands that ran out of their call's time and go on as background processes. This process holds them, so they end with it. Disposing
 * ends them.
 */
export class LateCommands implements AsyncDisposable {
  readonly #held = new Map<RunningShell, Promise<void>>();
  /** The sandbox of each that is held or being adopted. What stands in the sandbox about them its programs may remove. */
  readonly #sandboxes = new Map<RunningShell, string>();
  readonly #timeoutMs: number;
  #isOver = false;

  constructor(timeoutMs = ADOPT_TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Resolves when the `process` tools find it, with all that it printed so far. From then on the command belongs to this object. Rejects
   * with `PROCESS_LIMIT`, or if nothing can carry its output; it then still belongs to the caller. Rejects with `EXEC_TIMEOUT` if the
   * sandbox takes too long; the command is then killed.
   */
  async adopt(sandbox: Sandbox, running: RunningShell, options: AdoptOptions): Promise<LateProcess> {
    assertFew([...this.#sandboxes.values()].filter((id) => id === sandbox.id).length);
    this.#sandboxes.set(running, sandbox.id);
    const adopting = this.#adopt(sandbox, running, options).catch((error: unknown) => {
      this.#sandboxes.delete(running);
      throw error;
    });
    const adopted = await settleWithin(adopting, { timeoutMs: this.#timeoutMs });
    if (adopted !== "late") return adopted;
    // It ends what `#adopt` waits for too.
    running.kill();
    throw new BelljarError("EXEC_TIMEOUT", "nothing could carry its output in time");
  }

  async #adopt(sandbox: Sandbox, running: RunningShell, { command, cwd }: AdoptOptions): Promise<LateProcess> {
    const { signal } = running;
    const { id } = await recordBackground(sandbox, { command, cwd, signal });
    const argv = ["bash", "-c", CARRY, SUPERVISOR, id, String(running.pid)];
    const carrier = await sandbox.guest.exec({ argv, cwd: folderOf(id), channels: 1, signal });
    try {
      await isReady(carrier, signal);
      if (this.#isOver) throw new BelljarError("CANCELLED", "This server stops");
    } catch (error) {
      await carrier[Symbol.asyncDispose]();
      throw error;
    }
    const printed = printedBy(running);
    carrier.stdin.write(printed);
    running.leave((chunk) => carry(carrier.stdin, chunk));
    this.#held.set(running, this.#follow(running, carrier));
    return { id, printedBytes: printed.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const running of this.#held.keys()) running.kill();
    await Promise.all(this.#held.values());
  }

  /** Never rejects: the sandbox may end first, and the process is lost with it. */
  async #follow(running: RunningShell, carrier: ExecProcess): Promise<void> {
    await using _carrier = carrier;
    try {
      const exit = await running.exited;
      carrier.stdin.end();
      carrier.channels[0]?.end(`${toCode(exit)}\n`);
      await carrier.exited;
    } catch (error) {
      if (!(error instanceof BelljarError)) throw error;
    } finally {
      this.#held.delete(running);
      this.#sandboxes.delete(running);
    }
  }
}

async function isReady({ stdin, stdout, stderr, channels, exited }: ExecProcess, signal: AbortSignal): Promise<void> {
  // An error of a stream is the exec's, which `exited` reports.
  for (const stream of [stdin, stdout, stderr, ...channels]) stream.on("error", () => undefined);
  stderr.resume();
  const ended = exited.then(() => {
    throw new BelljarError("RUNTIME_FAILED", "The command could not be taken into the background");
  });
  await Promise.race([once(stdout, "data", { signal }), ended]);
  stdout.resume();
}

function printedBy({ windows }: RunningShell): Buffer {
  return Buffer.from(windows.stdout.text() + windows.stderr.text());
}

/** Settles when the carrier has taken the chunk, or is gone: then the output is lost, and the command goes on. */
function carry(stdin: Writable, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => stdin.write(chunk, () => resolve()));
}

/** As a shell says it. */
function toCode({ exitCode, signal }: ExecExit): number {
  return exitCode ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}
