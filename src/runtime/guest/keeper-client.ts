import { BelljarError } from "../../errors.ts";
import { encodeFields, type Field, type Fields, malformed } from "../../protocol/fields.ts";
import { DEADLINE_ACTION, OPERATION } from "../../protocol/wire.ts";
import type { DeadlineAction, EndReason, PauseReason, SandboxEnd, Usage } from "../contract/run.ts";
import type { RunLook } from "../contract/runtime.ts";
import { call } from "./call.ts";
import { Link, type Connect, type LinkOptions } from "./link.ts";

/** The keeper outside a sandbox, over streams that `connect` opens. Every method rejects with a `BelljarError`. */
export interface KeeperClient {
  status(signal: AbortSignal): Promise<Usage>;
  /** Without an action the one before stands. */
  extend(deadline: Date | undefined, action: DeadlineAction | undefined, signal: AbortSignal): Promise<void>;
  /** Resolves when the sandbox has ended and is cleaned up. */
  kill(reason: EndReason, signal: AbortSignal): Promise<void>;
  /** Resolves when the run has ended and another one can be started. */
  stop(signal: AbortSignal): Promise<void>;
  pause(signal: AbortSignal): Promise<void>;
  resume(signal: AbortSignal): Promise<void>;
  /**
   * Makes what the sandbox has written a frozen layer (`native/jail/raise.h`). The answer comes once, however often it is asked for a layer.
   * With `onlyTells`, says what became of it.
   */
  raise(layer: string, options: RaiseOptions, signal: AbortSignal): Promise<Raised>;
  /** Undefined: never. */
  sleepAfter(idleMs: number | undefined, signal: AbortSignal): Promise<void>;
  /** Resolves when the sandbox has ended. */
  wait(signal: AbortSignal): Promise<SandboxEnd>;
}

export interface RaiseOptions {
  readonly onlyTells: boolean;
  readonly merged?: MergedGaps | undefined;
}

/** A layer that takes the place of several neighbours with a raise. */
export interface MergedGaps {
  readonly layer: string;
  readonly gaps: readonly Gap[];
}

/** So many of an overlay's layers, below so many others. */
export interface Gap {
  readonly overlay: string;
  readonly above: number;
  readonly count: number;
}

/** The overlays whose writable layers were raised. None: nothing has changed. */
export type Raised = readonly string[];

const RAISED = 1;
const NOT_RAISED = 2;

const PHASES = new Map<number, Usage["phase"]>([
  [1, "running"],
  [2, "paused"],
  [3, "ending"],
]);

const ACTIONS = new Map<number, DeadlineAction>([
  [DEADLINE_ACTION.KILL, "kill"],
  [DEADLINE_ACTION.PAUSE, "pause"],
  [DEADLINE_ACTION.STOP, "stop"],
]);

const PAUSE_REASONS: readonly string[] = ["asked", "deadline", "idle"] satisfies PauseReason[];

const REASONS: readonly string[] = [
  "stopped",
  "killed",
  "deadline",
  "out_of_memory",
  "exited",
  "host_lost",
  "keeper_lost",
  "create_failed",
] satisfies EndReason[];

/** Short, because a keeper does no slow work, and nothing inside the sandbox can delay it. */
export const KEEPER_ANSWER_MS = 3_000;
/** The end of the year 9999, the keeper's own limit. */
const DEADLINE_MAX_MS = 253_402_300_799_999;

/** With `ended`, a call rejects with `SANDBOX_ENDED` if the sandbox ends before the answer. */
export function createKeeperClient(connect: Connect, options: Pick<LinkOptions, "ended" | "answerMs"> = {}): KeeperClient {
  const link = new Link(connect, { answerMs: KEEPER_ANSWER_MS, ...options });
  return {
    status: (signal) => keeperStatus(link, signal),
    extend: async (deadline, action, signal) => void (await call(link, OPERATION.KEEPER_EXTEND, deadlineFields(deadline, action), signal)),
    kill: async (reason, signal) => void (await call(link, OPERATION.KEEPER_KILL, [["REASON", reason]], signal)),
    stop: async (signal) => void (await call(link, OPERATION.KEEPER_STOP, [], signal)),
    pause: async (signal) => void (await call(link, OPERATION.KEEPER_PAUSE, [], signal)),
    raise: (layer, options, signal) => keeperRaise(link, { layer, ...options }, signal),
    resume: async (signal) => void (await call(link, OPERATION.KEEPER_RESUME, [], signal)),
    sleepAfter: async (idleMs, signal) => void (await call(link, OPERATION.KEEPER_SLEEP, [["IDLE_MS", idleMs ?? 0]], signal)),
    wait: async (signal) => ({ reason: parseReason((await call(link, OPERATION.KEEPER_WAIT, [], signal)).text("REASON")), at: new Date() }),
  };
}

/** A deadline as the keeper and the jail read it. */
export function deadlineFields(deadline: Date | undefined, action: DeadlineAction | undefined): Field[] {
  return [
    ["DEADLINE_MS", deadlineMs(deadline)],
    ["ACTION", action && DEADLINE_ACTION[ACTION_NAMES[action]]],
  ];
}

const ACTION_NAMES = { kill: "KILL", pause: "PAUSE", stop: "STOP" } as const satisfies Record<DeadlineAction, keyof typeof DEADLINE_ACTION>;

/** On the wire, 0 means no deadline. */
function deadlineMs(deadline: Date | undefined): number {
  if (deadline === undefined) return 0;
  const ms = deadline.getTime();
  if (ms >= 1 && ms <= DEADLINE_MAX_MS) return ms;
  throw new BelljarError("ARGUMENTS_INVALID", "A deadline is a date from 1970 to the year 9999");
}

async function keeperStatus(link: Link, signal: AbortSignal): Promise<Usage> {
  return toUsage(await call(link, OPERATION.KEEPER_STATUS, [], signal));
}

/** What a keeper answers to STATUS. Throws `GUEST_PROTOCOL`. */
function toUsage(fields: Fields): Usage {
  return {
    memoryBytes: fields.needNumber("MEMORY"),
    memoryPeakBytes: fields.needNumber("MEMORY_PEAK"),
    cpuUs: fields.needNumber("CPU_US"),
    processes: fields.needNumber("PROCESSES_COUNT"),
    oomKills: fields.needNumber("OOM_KILLS"),
    ...toLook(fields),
  };
}

/** The same without what it uses, which may have been left out. */
export function toLook(fields: Fields): RunLook & Pick<Usage, "memoryAwakeBytes"> {
  const phase = PHASES.get(fields.needNumber("PHASE"));
  const deadlineAction = ACTIONS.get(fields.needNumber("ACTION"));
  if (!phase || !deadlineAction) throw malformed("an unknown phase or action");
  const atMs = fields.number("DEADLINE_MS") ?? 0;
  return {
    phase,
    ...pauseOf(fields),
    deadlineAction,
    ...(atMs > 0 && { deadline: new Date(atMs) }),
  };
}

async function keeperRaise(
  link: Link,
  { layer, onlyTells, merged }: RaiseOptions & { readonly layer: string },
  signal: AbortSignal,
): Promise<Raised> {
  const fields = await call(
    link,
    OPERATION.KEEPER_RAISE,
    [["ID", layer], ["FLAGS", onlyTells ? 1 : undefined], ["LOWER", merged?.layer], ...(merged?.gaps ?? []).map(gapField)],
    signal,
  );
  const outcome = fields.needNumber("KIND");
  if (outcome === RAISED) return fields.all("ARG").map(String);
  if (outcome === NOT_RAISED) return [];
  throw new BelljarError(
    "RUNTIME_FAILED",
    "A process that worked on the sandbox's layers was killed, so the sandbox was stopped: its files are kept, start it again",
  );
}

function gapField({ overlay, above, count }: Gap): Field {
  return [
    "SETUP",
    encodeFields([
      ["NAME", overlay],
      ["OFFSET", above],
      ["LIMIT", count],
    ]),
  ];
}

/** A keeper that an earlier Belljar has started says nothing of it. */
function pauseOf(fields: Fields): Pick<Usage, "pauseReason" | "memoryAwakeBytes"> {
  const reason = fields.text("REASON");
  if (reason === undefined) return {};
  if (!PAUSE_REASONS.includes(reason)) throw malformed("an unknown reason of a pause");
  return { pauseReason: reason as PauseReason, memoryAwakeBytes: fields.needNumber("MEMORY_AWAKE") };
}

/** Throws `GUEST_PROTOCOL` for an unknown reason. */
export function parseReason(text: string | undefined): EndReason {
  if (text === undefined || !REASONS.includes(text)) throw malformed("an unknown end reason");
  return text as EndReason;
}
