import { constants } from "node:os";
import { BelljarError } from "../../errors.ts";

const SIGNALS_MAX = 64;

const NAMES = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
// Two signals have two names each. A shell prints these.
NAMES.set(constants.signals.SIGABRT, "SIGABRT").set(constants.signals.SIGIO, "SIGIO");

/** Returns the name of a signal, such as `SIGKILL`, or `SIG34` for a real-time signal. */
export function signalName(number: number): string {
  return NAMES.get(number) ?? `SIG${number}`;
}

/** Throws `ARGUMENTS_INVALID` for an invalid signal number. The guest would take it for a protocol fault of the host. */
export function assertSignal(number: number): void {
  if (Number.isInteger(number) && number > 0 && number <= SIGNALS_MAX) return;
  throw new BelljarError("ARGUMENTS_INVALID", `A signal is a number from 1 to ${SIGNALS_MAX}, not ${number}`);
}
