import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import { isPromise } from "node:util/types";
import { Script } from "node:vm";
import type { Channel, Message } from "./channel.ts";
import { INTERRUPTED, toFailure } from "./failure.ts";
import { breakImmediates } from "./immediates.ts";
import type { Steps } from "./interrupts.ts";
import { Interrupts } from "./interrupts.ts";
import { toMime } from "./mime.ts";
import { setEnv, type Request } from "./request.ts";
import { rewrite } from "./rewrite.ts";
import { freeNames } from "./global-names.ts";
import { loadTranspiler } from "./transpiler.ts";
import { writeAll } from "./write-all.ts";

interface Run {
  readonly request: Request;
  readonly number: number;
  readonly restoreEnv: () => void;
}

/** What a run's synchronous part leaves: its value, or a promise of it. */
type Outcome = { readonly message: Message | undefined } | { readonly promise: Promise<unknown>; readonly isWrapped: boolean };

/** The runs of the context, one after the other. */
export class Runs {
  readonly #channel: Channel;
  readonly #interrupts: Interrupts;
  readonly #waiting: Request[] = [];
  #current: Run | undefined;
  #count = 0;

  constructor(channel: Channel, kernel: Steps) {
    this.#channel = channel;
    this.#interrupts = new Interrupts(kernel, () => this.interrupt());
    breakImmediates((step) => (this.#interrupts.isListening ? this.#interrupts.breakable(step) : step()));
  }

  /** Ends the run that goes on. */
  interrupt(): void {
    if (this.#current) this.#finish(this.#current, INTERRUPTED);
  }

  /** An exception that nobody caught: true if it is how a step was broken off. */
  isInterrupt(error: unknown): boolean {
    return this.#interrupts.isInterrupt(error);
  }

  add(request: Request): void {
    this.#waiting.push(request);
    if (!this.#current) this.#startNext();
  }

  #startNext(): void {
    const request = this.#waiting.shift();
    if (!request) return;
    const run = { request, number: ++this.#count, restoreEnv: setEnv(request.env) };
    this.#current = run;
    this.#interrupts.begin(run.number);
    this.#channel.open(request.run);
    if (request.language === "javascript") return this.#start(run, (text) => text);
    loadTranspiler(request.code).then(
      (transpile) => this.#start(run, transpile),
      (error: unknown) => this.#fail(run, error),
    );
  }

  #start(run: Run, transpile: (text: string) => string): void {
    if (run !== this.#current) return;
    this.#attempt(run, () => {
      if (run.request.cwd !== undefined) process.chdir(run.request.cwd);
      return evaluate(run, transpile(run.request.code));
    });
  }

  /** The value's own code may run when it is shown, so that it belongs to what an interrupt breaks off. */
  #attempt(run: Run, step: () => Outcome): void {
    try {
      const outcome = this.#interrupts.breakable(() => {
        const left = step();
        if ("promise" in left) this.#interrupts.goOn();
        return left;
      });
      if ("message" in outcome) return this.#settle(run, outcome.message);
      this.#await(run, outcome.promise, outcome.isWrapped);
    } catch (error) {
      this.#fail(run, error);
    }
  }

  #await(run: Run, promise: Promise<unknown>, isWrapped: boolean): void {
    const onValue = (value: unknown): void => {
      if (run === this.#current) this.#attempt(run, () => toOutcome(isWrapped ? (value as unknown[] | undefined)?.[0] : value));
    };
    promise.then(onValue, (error: unknown) => this.#fail(run, error));
  }

  #fail(run: Run, error: unknown): void {
    if (run !== this.#current) return;
    if (this.#interrupts.isInterrupt(error)) {
      this.#settle(run, INTERRUPTED);
      return this.#interrupts.finishBreak(run.number);
    }
    try {
      this.#settle(
        run,
        this.#interrupts.breakable(() => toFailure(error)),
      );
    } catch (problem) {
      const message = "The thrown value cannot be shown";
      this.#settle(
        run,
        this.#interrupts.isInterrupt(problem) ? INTERRUPTED : { type: "error", name: "Error", message, traceback: `Error: ${message}` },
      );
    }
  }

  /** What the run has already begun, as microtasks, still prints into it. */
  #settle(run: Run, message: Message | undefined): void {
    setImmediate(() => this.#finish(run, message));
  }

  #finish(run: Run, message: Message | undefined): void {
    if (run !== this.#current) return;
    this.#interrupts.end();
    run.restoreEnv();
    if (message) this.#channel.send(message);
    const mark = Buffer.from(`${run.request.run}\n`);
    writeAll(1, mark);
    writeAll(2, mark);
    this.#channel.close(run.request.run, run.number);
    this.#current = undefined;
    setImmediate(() => {
      this.#interrupts.rest();
      if (!this.#current) this.#startNext();
    });
  }
}

function evaluate(run: Run, text: string): Outcome {
  const { code, columnOffset, names, isAsync, hasValue } = rewrite(text, { isTyped: run.request.language === "typescript" });
  freeNames(names);
  const value: unknown = new Script(code, { filename: `<run ${run.number}>`, columnOffset: -columnOffset }).runInThisContext({
    displayErrors: false,
  });
  if (isAsync) return { promise: (value as () => Promise<unknown>)(), isWrapped: true };
  return hasValue ? toOutcome(value) : { message: undefined };
}

function toOutcome(value: unknown): Outcome {
  if (isPromise(value)) return { promise: value, isWrapped: false };
  return { message: value === undefined ? undefined : { type: "result", data: toMime(value) } };
}
