import { errnoOf } from "../files/file-error.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** Far longer than any create takes. */
const MAKING_MS = 30_000;

/** This process, told apart from one that had its pid before. */
export const CREATOR: SandboxRecord["creator"] = { pid: process.pid, startedMs: Math.round(performance.timeOrigin) };

export function isThisProcess({ pid, startedMs }: SandboxRecord["creator"]): boolean {
  return pid === CREATOR.pid && startedMs === CREATOR.startedMs;
}

/**
 * Whether a sandbox may still be in the making: its keeper holds no lock yet, and asking the runtime would clear it away.
 * Spares only; what is older, or has lost its maker, is for the runtime to judge.
 */
export function mayBeInTheMaking(record: Pick<SandboxRecord, "createdAt" | "creator">, now: number): boolean {
  if (now - record.createdAt.getTime() > MAKING_MS) return false;
  return record.creator.pid === CREATOR.pid ? isThisProcess(record.creator) : isAlive(record.creator.pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return errnoOf(cause) === "EPERM";
  }
}
