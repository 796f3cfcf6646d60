import { constants } from "node:os";

/** As a shell says it: a command that a signal ended is 128 + its number. */
export function toExitCode({ exitCode, signal }: { readonly exitCode?: number | undefined; readonly signal?: string | undefined }): number {
  if (exitCode !== undefined) return exitCode;
  return 128 + (signalNumber(signal) ?? 0);
}

export function signalNumber(name: string | undefined): number | undefined {
  return Object.entries(constants.signals).find(([one]) => one === name)?.[1];
}
