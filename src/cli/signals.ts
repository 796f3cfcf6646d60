import { constants } from "node:os";
import { BelljarError } from "../errors.ts";

export interface Signals extends Disposable {
  readonly signal: AbortSignal;
  /** 128 + the number of the signal that came; undefined when none did. */
  exitCode(): number | undefined;
}

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** What has not ended by itself then waits for somebody who does not answer: whoever sends the signal does not wait for them. */
export const ENDS_WITHIN_MS = 900;

/**
 * Turns the first ending signal, and the loss of stdout's reader, into an abort; the process ends within a second of it, whatever
 * still goes on. A second signal ends it at once.
 */
export function openSignals({ catchInterrupts }: { readonly catchInterrupts: boolean }): Signals {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const abort = (name: NodeJS.Signals) => {
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
  // Nobody reads what is said there: no reason to stop the work, and no way to say so.
  process.stderr.on("error", ignore);
  return {
    signal: controller.signal,
    exitCode: () => exitCode,
    [Symbol.dispose]() {
      for (const name of listened) process.off(name, abort);
      process.stdout.off("error", onOutputError);
      process.stdout.on("error", ignore);
    },
  };
}

function ignore(): void {}
