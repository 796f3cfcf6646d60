import { constants } from "node:os";
import { BelljarError } from "../errors.ts";

export interface Signals extends Disposable {
  readonly signal: AbortSignal;
  /** Returns 128 + the number of the received signal, or undefined if there was none. */
  exitCode(): number | undefined;
  /** Until it is disposed, Ctrl+C is another program's on the same terminal: SIGINT is ignored. */
  holdInterrupts(this: void): Disposable;
}

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Time from a signal to the process's end. Work that takes longer waits for something that does not answer. */
export const ENDS_WITHIN_MS = 900;

/**
 * Turns the first ending signal, or the loss of stdout's reader, into an abort. The process ends within a second after it, even if work
 * goes on. A second signal ends the process at once.
 */
export function openSignals({ catchInterrupts }: { readonly catchInterrupts: boolean }): Signals {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let holders = 0;
  const abort = (name: NodeJS.Signals) => {
    if (name === "SIGINT" && holders > 0) return;
    if (exitCode !== undefined) process.exit(exitCode);
    exitCode = 128 + constants.signals[name];
    setTimeout(() => process.exit(exitCode), ENDS_WITHIN_MS).unref();
    controller.abort(new BelljarError("CANCELLED", `Stopped by ${name}`));
  };
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") abort("SIGPIPE");
    else throw error;
  };
  const listened = catchInterrupts ? ENDING : [];
  for (const name of listened) process.on(name, abort);
  process.stdout.on("error", onOutputError);
  // A lost reader of stderr is no reason to stop the work.
  process.stderr.on("error", ignore);
  return {
    signal: controller.signal,
    exitCode: () => exitCode,
    holdInterrupts() {
      holders += 1;
      return { [Symbol.dispose]: () => void (holders -= 1) };
    },
    [Symbol.dispose]() {
      for (const name of listened) process.off(name, abort);
      process.stdout.off("error", onOutputError);
    },
  };
}

function ignore(): void {}
