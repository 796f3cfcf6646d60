import { once } from "node:events";
import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import { INSIDE, type ExecProcess, type Guest } from "../../sandbox/sandbox.ts";
import { findLanguage } from "../language.ts";
import { WarmProgram } from "./warm-program.ts";

const PYTHON = findLanguage("python");
/** A start with its imports, on a busy host. */
const READY_MS = 20_000;

interface NewSandbox {
  readonly id: string;
  readonly guest: Guest;
  readonly ended: Promise<unknown>;
}

/** The Pythons that this process has started ahead, one in each sandbox that waits for a one-shot program. */
export class WarmPrograms {
  readonly #imports: readonly string[];
  readonly #bySandbox = new Map<string, WarmProgram>();

  /** `imports`: modules that each has imported when its program begins. One that a template lacks is left out. */
  constructor(imports: readonly string[]) {
    this.#imports = imports;
  }

  /** Starts one, and resolves once it waits for its program. A template without Python has none. */
  async warm({ id, guest, ended }: NewSandbox, signal: AbortSignal): Promise<void> {
    const process = await this.#start(guest, signal);
    if (!process) return;
    const program = new WarmProgram(process);
    try {
      await becomesReady(process, signal);
    } catch (cause) {
      await program.discard();
      throw cause;
    }
    this.#bySandbox.set(id, program);
    void ended.then(() => this.#bySandbox.delete(id));
  }

  /** Whoever takes it runs or discards it. Undefined for a sandbox that has none. */
  take(sandboxId: string): WarmProgram | undefined {
    const program = this.#bySandbox.get(sandboxId);
    this.#bySandbox.delete(sandboxId);
    return program;
  }

  async #start(guest: Guest, signal: AbortSignal): Promise<ExecProcess | undefined> {
    const env = { ...PYTHON.env, PYTHONPATH: INSIDE.kernels, BELLJAR_IMPORTS: this.#imports.join(" ") };
    try {
      signal.throwIfAborted();
      // It outlives the call that has it made.
      return await guest.exec({ argv: [PYTHON.command, PYTHON.entryFile], env, channels: 1, signal: new AbortController().signal });
    } catch (cause) {
      if (cause instanceof BelljarError && cause.code === "COMMAND_NOT_FOUND") return undefined;
      throw cause;
    }
  }
}

/** What it says first is all that it says there. */
async function becomesReady({ channels, exited }: ExecProcess, signal: AbortSignal): Promise<void> {
  const [channel] = channels;
  if (!channel) throw new TypeError("A warm program has one channel");
  using limit = limitTime(signal, READY_MS);
  const enough = limit.signal;
  const ended = exited.then(({ exitCode }) => {
    throw new BelljarError("EXEC_TIMEOUT", `Python ended with code ${exitCode} before it waited for its program`);
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([once(channel, "data", { signal: enough }), ended]);
  } catch (cause) {
    if (!enough.aborted || signal.aborted) throw cause;
    throw new BelljarError("EXEC_TIMEOUT", `Python did not start within ${READY_MS} ms`, { cause });
  }
  channel.resume();
}
