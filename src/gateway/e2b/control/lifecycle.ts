import { BelljarError } from "../../../errors.ts";
import type { DeadlineAction } from "../../../runtime/contract/run.ts";
import type { Sandbox, SandboxInfo } from "../../../sandbox/sandbox.ts";
import type { E2b } from "../e2b.ts";
import type { MadeWith } from "./made-with.ts";
import { madeWith } from "./made-with.ts";

/** What happens at the deadline of a sandbox whose maker said so. */
export function deadlineActionOf({ autoPause, autoPauseMemory }: Pick<MadeWith, "autoPause" | "autoPauseMemory">): DeadlineAction {
  if (!autoPause) return "kill";
  return autoPauseMemory === false ? "stop" : "pause";
}

/** The same of a sandbox. Undefined for one that Belljar's other clients made: that keeps its own. */
export function actionOf({ metadata }: Pick<SandboxInfo, "metadata">): DeadlineAction | undefined {
  const made = madeWith(metadata);
  return made && deadlineActionOf(made);
}

/**
 * Freezes it, or with `memory: false` stops it, which keeps its files alone. The deadline that it had when it ran kills it no more: it stays
 * for the retention, after a reboot as a stopped one. Rejects with `SANDBOX_PAUSED` for one that is paused, and with `NOT_SUPPORTED` where
 * its memory, or its files, cannot be kept.
 */
export async function pauseSandbox(sandbox: Sandbox, info: SandboxInfo, wish: PauseWish): Promise<void> {
  if (!sandbox.ended || info.state === "paused") throw alreadyPaused(info.id);
  if (wish.memory === false) return sandbox.stop();
  await sandbox.pause().catch(explainNoPause);
  const { retentionMs } = wish;
  if (actionOf(info) === undefined) return sandbox.extend(retentionMs);
  try {
    await sandbox.extend(retentionMs, "stop");
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "NOT_SUPPORTED")) throw cause;
    await sandbox.extend(retentionMs);
  }
}

export interface PauseWish {
  readonly memory: boolean | undefined;
  readonly retentionMs: number;
}

export interface WakeWish {
  readonly timeoutMs: number;
  readonly action: DeadlineAction | undefined;
  /** false: it is started anew from its files. true: its memory is wanted. */
  readonly memory?: boolean | undefined;
  readonly signal: AbortSignal;
}

export interface Woken {
  readonly sandbox: Sandbox;
  /** A sentence for each thing that is not as it was before the pause. */
  readonly lost: readonly string[];
}

/** Lets a paused sandbox go on, or starts a stopped one from its files; it then lives so long from now. */
export async function wakeSandbox(paused: Sandbox, wish: WakeWish): Promise<Woken> {
  const { timeoutMs, action, memory, signal } = wish;
  if (!paused.ended && memory) throw noMemory(paused.id);
  if (paused.ended && memory !== false) {
    await paused.resume();
    await paused.extend(timeoutMs, action);
    return { sandbox: paused, lost: [] };
  }
  if (paused.ended) await paused.stop();
  const sandbox = await paused.start(signal);
  await sandbox.extend(timeoutMs, action);
  return { sandbox, lost: [await tellLost(sandbox)] };
}

async function tellLost(sandbox: Sandbox): Promise<string> {
  const stop = await sandbox.lastStop?.();
  const why = stop && stop.reason !== "stopped" ? ` It had ended at ${stop.at.toISOString()} (${stop.reason}).` : "";
  return `The sandbox was started from its files: its processes and its memory are not those of before.${why}`;
}

/**
 * For the planes of sandboxes: resolves once the sandbox runs. A paused one is woken only if its maker chose so (`autoResume`), and never
 * started from its files. Else rejects with `SANDBOX_PAUSED` or `SANDBOX_STOPPED`, which these planes answer with 502. The signal ends the wait for
 * its turn, not a resume that has begun.
 */
export async function assertAwake({ turns }: Pick<E2b, "turns">, sandbox: Sandbox, signal?: AbortSignal): Promise<void> {
  if (!sandbox.ended) throw new BelljarError("SANDBOX_STOPPED", `Sandbox ${sandbox.id} is paused: connect to it, which starts it`);
  if (!sandbox.isPaused?.()) return;
  await turns.run(
    turnOf(sandbox),
    async () => {
      const { phase, pauseReason } = await sandbox.usage();
      // One that sleeps while nobody uses it is woken by whoever does.
      if (phase !== "paused" || pauseReason === "idle") return;
      const info = await sandbox.info();
      const made = madeWith(info.metadata);
      if (!made?.autoResume) throw new BelljarError("SANDBOX_PAUSED", `Sandbox ${sandbox.id} is paused: connect to it, which resumes it`);
      await sandbox.resume();
      await sandbox.extend((made.timeout ?? DEFAULT_TIMEOUT_S) * 1_000, deadlineActionOf(made));
    },
    signal,
  );
}

/** The key of its turns. Nobody holds up another owner's. */
export function turnOf({ owner, id }: Pick<Sandbox, "owner" | "id">): string {
  return `${owner} ${id}`;
}

/** Of a sandbox whose maker says nothing, and of one that is connected to. */
export const DEFAULT_TIMEOUT_S = 300;

export function alreadyPaused(id: string): BelljarError {
  return new BelljarError("SANDBOX_PAUSED", `Sandbox ${id} is paused: connect to it, which resumes it`);
}

function noMemory(id: string): BelljarError {
  return new BelljarError(
    "NOT_SUPPORTED",
    `The memory of sandbox ${id} was not kept: connect without \`memory\`, which starts it from its files`,
  );
}

function explainNoPause(cause: unknown): never {
  if (!(cause instanceof BelljarError && cause.code === "NOT_SUPPORTED")) throw cause;
  throw new BelljarError(
    "NOT_SUPPORTED",
    "This host cannot freeze a sandbox, so its memory cannot be kept: pause it with `memory: false` (keepMemory), which keeps its files",
    { cause },
  );
}
