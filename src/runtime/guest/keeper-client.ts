import { BelljarError } from "../../errors.ts";
import { malformed } from "../../protocol/fields.ts";
import { OPERATION } from "../../protocol/wire.ts";
import type { EndReason, SandboxEnd, Usage } from "../runtime.ts";
import { call } from "./call.ts";
import { Link, type Connect, type LinkOptions } from "./link.ts";

/** The keeper outside a sandbox, over streams that `connect` opens. Every method rejects with a `BelljarError`. */
export interface KeeperClient {
  status(signal: AbortSignal): Promise<Usage>;
  extend(deadline: Date | undefined, signal: AbortSignal): Promise<void>;
  /** Resolves when the sandbox has ended and is cleaned up. */
  kill(reason: EndReason, signal: AbortSignal): Promise<void>;
  pause(signal: AbortSignal): Promise<void>;
  resume(signal: AbortSignal): Promise<void>;
  /** Resolves when the sandbox has ended. */
  wait(signal: AbortSignal): Promise<SandboxEnd>;
}

const PHASES = new Map<number, Usage["phase"]>([
  [1, "running"],
  [2, "paused"],
  [3, "ending"],
]);

const REASONS: readonly string[] = [
  "killed",
  "deadline",
  "out_of_memory",
  "exited",
  "host_lost",
  "keeper_lost",
  "create_failed",
] satisfies EndReason[];

/** A keeper does nothing that takes time, and nothing inside can hold it up. */
export const KEEPER_ANSWER_MS = 3_000;
/** The end of the year 9999, as the keeper has it. */
const DEADLINE_MAX_MS = 253_402_300_799_999;

/** With `ended`, a call that the sandbox's end cuts short rejects with `SANDBOX_ENDED`. */
export function createKeeperClient(connect: Connect, options: Pick<LinkOptions, "ended" | "answerMs"> = {}): KeeperClient {
  const link = new Link(connect, { answerMs: KEEPER_ANSWER_MS, ...options });
  return {
    status: (signal) => keeperStatus(link, signal),
    extend: async (deadline, signal) => void (await call(link, OPERATION.KEEPER_EXTEND, [["DEADLINE_MS", deadlineMs(deadline)]], signal)),
    kill: async (reason, signal) => void (await call(link, OPERATION.KEEPER_KILL, [["REASON", reason]], signal)),
    pause: async (signal) => void (await call(link, OPERATION.KEEPER_PAUSE, [], signal)),
    resume: async (signal) => void (await call(link, OPERATION.KEEPER_RESUME, [], signal)),
    wait: async (signal) => ({ reason: parseReason((await call(link, OPERATION.KEEPER_WAIT, [], signal)).text("REASON")), at: new Date() }),
  };
}

/** On the wire 0 means none. */
export function deadlineMs(deadline: Date | undefined): number {
  if (deadline === undefined) return 0;
  const ms = deadline.getTime();
  if (ms >= 1 && ms <= DEADLINE_MAX_MS) return ms;
  throw new BelljarError("ARGUMENTS_INVALID", "A deadline is a date from 1970 to the year 9999");
}

async function keeperStatus(link: Link, signal: AbortSignal): Promise<Usage> {
  const fields = await call(link, OPERATION.KEEPER_STATUS, [], signal);
  const phase = PHASES.get(fields.needNumber("PHASE"));
  if (!phase) throw malformed("an unknown phase");
  const atMs = fields.number("DEADLINE_MS") ?? 0;
  return {
    memoryBytes: fields.needNumber("MEMORY"),
    memoryPeakBytes: fields.needNumber("MEMORY_PEAK"),
    cpuUs: fields.needNumber("CPU_US"),
    processes: fields.needNumber("PROCESSES_COUNT"),
    oomKills: fields.needNumber("OOM_KILLS"),
    phase,
    ...(atMs > 0 && { deadline: new Date(atMs) }),
  };
}

/** Throws `GUEST_PROTOCOL` for a word that is no reason. */
export function parseReason(text: string | undefined): EndReason {
  if (text === undefined || !REASONS.includes(text)) throw malformed("an unknown end reason");
  return text as EndReason;
}
