import { constants } from "node:os";

const NAMES = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
// Two numbers have two names each; these are the ones that a shell prints.
NAMES.set(constants.signals.SIGABRT, "SIGABRT").set(constants.signals.SIGIO, "SIGIO");

/** The name of a signal of this kernel, as `SIGKILL`; real-time ones as `SIG34`. */
export function signalName(number: number): string {
  return NAMES.get(number) ?? `SIG${number}`;
}
