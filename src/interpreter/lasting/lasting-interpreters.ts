import { Turns } from "../../async/turns.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

/** An interpreter inside a sandbox that keeps its state between runs, such as a shell. It gets one run at a time. */
export interface LastingInterpreter<Run, Result> {
  /** It takes no more runs. */
  readonly hasEnded: boolean;
  /** Resolves when it has ended, for any reason. Never rejects. */
  gone(): Promise<void>;
  /** A failed run and a timeout are results. Rejects if the caller cancels or the sandbox ends. */
  run(run: Run): Promise<Result>;
}

/** One kind of lasting interpreters: how one is opened, and how many there may be. */
export interface InterpreterKind<Run, Result> {
  /** Its plural noun, for the message at the limit. */
  readonly name: string;
  /** Advice on how to end one, for the same message. */
  readonly endIt: string;
  /** Maximum number of interpreters in one sandbox. */
  readonly max: number;
  /** Maximum number of runs that wait for one interpreter. */
  readonly waitingMax: number;
  /** Opens one. The signal outlives the run that opens it. When it aborts, the interpreter must be released, and `gone` must settle. */
  open(sandbox: Sandbox, name: string, signal: AbortSignal): Promise<LastingInterpreter<Run, Result>>;
}

export interface LastingResult<Result> {
  readonly result: Result;
  /** True if this run opened the interpreter, so that it has no earlier state. */
  readonly created: boolean;
}

interface Slot<Run, Result> {
  readonly turns: Turns;
  interpreter: LastingInterpreter<Run, Result> | undefined;
}

/**
 * The lasting interpreters of one kind, by sandbox and name. A sandbox has at most `max` of them; ended ones do not count.
 * Disposing it releases all interpreters, and waits until they have ended.
 */
export class LastingInterpreters<Run extends { readonly signal: AbortSignal }, Result> implements AsyncDisposable {
  readonly #kind: InterpreterKind<Run, Result>;
  readonly #bySandbox = new Map<string, Map<string, Slot<Run, Result>>>();
  readonly #closing = new AbortController();

  constructor(kind: InterpreterKind<Run, Result>) {
    this.#kind = kind;
  }

  /**
   * Runs in the interpreter of that name. The first run opens it. The runs of one interpreter are served in order of arrival.
   * Rejects with `PROCESS_LIMIT`, with the signal's reason, or with an error of the interpreter.
   */
  async run(sandbox: Sandbox, name: string, run: Run): Promise<LastingResult<Result>> {
    const slot = this.#slotOf(sandbox.id, name);
    using _forget = { [Symbol.dispose]: () => this.#forget(sandbox.id, name, slot) };
    using _turn = await slot.turns.take(run.signal);
    const living = slot.interpreter?.hasEnded === false ? slot.interpreter : undefined;
    const interpreter = living ?? (await this.#open(sandbox, name, slot));
    return { result: await interpreter.run(run), created: living === undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const slots = [...this.#bySandbox.values()].flatMap((byName) => [...byName.values()]);
    await Promise.all(slots.flatMap(({ interpreter }) => interpreter?.gone() ?? []));
  }

  #slotOf(id: string, name: string): Slot<Run, Result> {
    const { name: kind, endIt, max, waitingMax } = this.#kind;
    const slots = this.#bySandbox.get(id) ?? new Map<string, Slot<Run, Result>>();
    const known = slots.get(name);
    if (known) return known;
    if (slots.size >= max) throw new BelljarError("PROCESS_LIMIT", `This sandbox has ${max} ${kind}; ${endIt}`);
    const slot = { turns: new Turns(waitingMax), interpreter: undefined };
    this.#bySandbox.set(id, slots.set(name, slot));
    return slot;
  }

  async #open(sandbox: Sandbox, name: string, slot: Slot<Run, Result>): Promise<LastingInterpreter<Run, Result>> {
    const interpreter = await this.#kind.open(sandbox, name, this.#closing.signal);
    slot.interpreter = interpreter;
    void interpreter.gone().then(() => this.#forget(sandbox.id, name, slot));
    return interpreter;
  }

  /** Removes the slot if it is unused and holds no running interpreter. */
  #forget(id: string, name: string, slot: Slot<Run, Result>): void {
    if (slot.turns.isBusy || (slot.interpreter && !slot.interpreter.hasEnded)) return;
    const slots = this.#bySandbox.get(id);
    if (slots?.get(name) !== slot) return;
    slots.delete(name);
    if (slots.size === 0) this.#bySandbox.delete(id);
  }
}
