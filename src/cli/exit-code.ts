import { constants } from "node:os";

/** Returns the exit code as a shell does: 128 + N if signal N ended the command. */
export function toExitCode({ exitCode, signal }: { readonly exitCode?: number | undefined; readonly signal?: string | undefined }): number {
  if (exitCode !== undefined) return exitCode;
  return 128 + (signalNumber(signal) ?? 0);
}

export function signalNumber(name: string | undefined): number | undefined {
  return Object.entries(constants.signals).find(([one]) => one === name)?.[1];
}
