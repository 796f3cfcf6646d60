import { constants } from "node:os";
import { BelljarError } from "../errors.ts";

export interface Signals extends Disposable {
  readonly signal: AbortSignal;
  /** 128 + the number of the signal that came; undefined when none did. */
  exitCode(): number | undefined;
}

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Turns the first ending signal, and the loss of stdout's reader, into an abort. A second signal ends the process at once. */
export function openSignals({ catchInterrupts }: { readonly catchInterrupts: boolean }): Signals {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const abort = (name: NodeJS.Signals) => {
    if (exitCode !== undefined) process.exit(exitCode);
    exitCode = 128 + constants.signals[name];
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
