import { constants } from "node:os";
import type { ExecExit } from "../../../../sandbox/sandbox.ts";
import type { ProcessEvent } from "./messages.ts";

/** Clients show these words, which are those of Go. */
const WORDS: Readonly<Record<number, string>> = {
  1: "hangup",
  2: "interrupt",
  3: "quit",
  4: "illegal instruction",
  5: "trace/breakpoint trap",
  6: "aborted",
  7: "bus error",
  8: "floating point exception",
  9: "killed",
  10: "user defined signal 1",
  11: "segmentation fault",
  12: "user defined signal 2",
  13: "broken pipe",
  14: "alarm clock",
  15: "terminated",
  16: "stack fault",
  24: "CPU time limit exceeded",
  25: "file size limit exceeded",
  26: "virtual timer expired",
  27: "profiling timer expired",
  29: "I/O possible",
  30: "power failure",
  31: "bad system call",
};
const NUMBERS: Readonly<Record<string, number>> = constants.signals;

/** How a process ended. A zero is left out, as proto3 does; a signal has the code -1. */
export function toEndEvent({ exitCode, signal }: Pick<ExecExit, "exitCode" | "signal">): ProcessEvent {
  if (exitCode === undefined) {
    const status = `signal: ${wordOf(signal)}`;
    return { event: { end: { exitCode: -1, status, error: status } } };
  }
  const status = `exit status ${exitCode}`;
  return { event: { end: exitCode === 0 ? { exited: true, status } : { exitCode, exited: true, status, error: status } } };
}

function wordOf(signal = ""): string {
  const number = NUMBERS[signal] ?? Number(/\d+/.exec(signal)?.[0]);
  return WORDS[number] ?? `signal ${number}`;
}
