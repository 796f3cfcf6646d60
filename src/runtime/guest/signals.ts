import { constants } from "node:os";
import { BelljarError } from "../../errors.ts";

const SIGNALS_MAX = 64;

const NAMES = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
// Two numbers have two names each; these are the ones that a shell prints.
NAMES.set(constants.signals.SIGABRT, "SIGABRT").set(constants.signals.SIGIO, "SIGIO");

/** The name of a signal of this kernel, as `SIGKILL`; real-time ones as `SIG34`. */
export function signalName(number: number): string {
  return NAMES.get(number) ?? `SIG${number}`;
}

/** Throws `ARGUMENTS_INVALID` for what no kernel delivers, which the guest would take for a broken host. */
export function assertSignal(number: number): void {
  if (Number.isInteger(number) && number > 0 && number <= SIGNALS_MAX) return;
  throw new BelljarError("ARGUMENTS_INVALID", `A signal is a number from 1 to ${SIGNALS_MAX}, not ${number}`);
}
