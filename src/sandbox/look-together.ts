import { Slices } from "../async/slices.ts";
import { BelljarError } from "../errors.ts";
import type { RecordedRun, SandboxEnd } from "../runtime/contract/run.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import type { InfoLook, Infos } from "./infos.ts";
import type { Runtimes } from "./runtimes.ts";
import type { ToldLife } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** Fewer are asked each by itself in less time than a process takes to start. */
const TOGETHER_MIN = 16;

export interface LookParts {
  readonly runtimes: Runtimes;
  readonly infos: Infos;
  readonly knownEnd: (record: SandboxRecord) => SandboxEnd | undefined;
  /** The run that may live. Undefined if it must be looked at by itself. */
  readonly presentRun: (record: SandboxRecord, look: InfoLook) => Promise<RecordedRun | undefined>;
}

interface LookedRun {
  readonly record: SandboxRecord;
  readonly run: RecordedRun;
}

/**
 * How many sandboxes are, in less time than it takes to look at each by itself: the ends that are known, and how those are that answer at once
 * when their runtime looks at them together. All others are to be looked at by themselves.
 */
export async function lookTogether(parts: LookParts, records: readonly SandboxRecord[]): Promise<InfoLook> {
  const look = parts.infos.look();
  const lives = new Map<string, ToldLife>();
  const runs: LookedRun[] = [];
  const slices = new Slices();
  for (const record of records) {
    const end = endOf(parts, record);
    const run = end ? undefined : await parts.presentRun(record, look).catch(leaveOut);
    if (end) lives.set(record.id, end);
    else if (run) runs.push({ record, run });
    const pause = slices.next();
    if (pause) await pause;
  }
  for (const [id, life] of await askTogether(parts.runtimes, runs)) lives.set(id, life);
  return { ...look, lives, enforced: await findEnforced(parts.runtimes, records) };
}

function endOf({ knownEnd }: LookParts, record: SandboxRecord): SandboxEnd | undefined {
  try {
    return knownEnd(record);
  } catch (cause) {
    return leaveOut(cause);
  }
}

/** Of the runtimes that they have. One that cannot be asked is told of by whoever looks at one of its sandboxes. */
async function findEnforced(runtimes: Runtimes, records: readonly SandboxRecord[]): Promise<NonNullable<InfoLook["enforced"]>> {
  const enforced = new Map<string, readonly (keyof Limits)[]>();
  for (const runtime of new Set(records.map((record) => runtimes.of(record)))) {
    const isolation = await runtime?.probe().catch(leaveOut);
    if (runtime && isolation) enforced.set(runtime.name, isolation.limits);
  }
  return enforced;
}

async function askTogether(runtimes: Runtimes, runs: readonly LookedRun[]): Promise<readonly (readonly [string, ToldLife])[]> {
  const found = runtimes.all().map(async (runtime) => {
    const own = runs.filter(({ record }) => record.runtime === runtime.name);
    if (!runtime.look || own.length < TOGETHER_MIN) return [];
    const looks = await runtime.look(own.map(({ run }) => run));
    return own.flatMap(({ record }, at) => {
      const look = looks[at];
      return look ? [[record.id, look] as const] : [];
    });
  });
  return (await Promise.all(found)).flat();
}

/** What cannot be read is told by whoever looks at it by itself. */
function leaveOut(cause: unknown): undefined {
  if (!(cause instanceof BelljarError)) throw cause;
  return undefined;
}
