import { BelljarError } from "../../errors.ts";
import type { Quotas } from "../sandbox.ts";

/** A sandbox that counts, as far as it is known. */
export interface CountedSandbox {
  readonly memoryBytes: number;
  readonly cpuUs: number;
  readonly deadline?: Date;
  /** The name of its runtime, if this process does not have it: nobody here can tell whether it lives. */
  readonly missingRuntime?: string;
}

const SECOND_US = 1_000_000;
const MEBIBYTE = 2 ** 20;

export function sandboxesUsedUp({ sandboxes: most }: Quotas, live: readonly CountedSandbox[]): BelljarError | undefined {
  if (most === undefined || live.length < most) return undefined;
  return refuse(`${most} sandboxes that live at once`, `${live.length} live or are just being made`, live);
}

export function stoppedUsedUp({ stoppedSandboxes: most }: Quotas, stopped: number): BelljarError | undefined {
  if (most === undefined || stopped < most) return undefined;
  return new BelljarError(
    "QUOTA_EXCEEDED",
    `The quota of ${most} stopped sandboxes is used up (${stopped} are kept): kill or start one of yours`,
  );
}

/** A sandbox without a memory limit fits in no quota. */
export function memoryUsedUp(
  { memoryBytes: most }: Quotas,
  live: readonly CountedSandbox[],
  wanted = Number.POSITIVE_INFINITY,
): BelljarError | undefined {
  if (most === undefined) return undefined;
  const inUse = live.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  if (inUse + wanted <= most) return undefined;
  const quota = `${inMebibytes(most)} of memory for all live sandboxes`;
  if (wanted > most)
    return new BelljarError("QUOTA_EXCEEDED", `This sandbox wants ${inMebibytes(wanted)}, the quota is ${quota}: name a smaller limit`);
  return refuse(quota, `${inMebibytes(inUse)} are given, this one wants ${inMebibytes(wanted)}`, live);
}

export function cpuUsedUp({ cpuSeconds: most }: Quotas, live: readonly CountedSandbox[]): BelljarError | undefined {
  const used = live.reduce((sum, { cpuUs }) => sum + cpuUs, 0) / SECOND_US;
  if (most === undefined || used < most) return undefined;
  return refuse(`${most} CPU seconds of all live sandboxes`, `${Math.floor(used)} are used`, live);
}

/** Room comes when one ends, at the latest at the first deadline. */
function refuse(quota: string, state: string, live: readonly CountedSandbox[]): BelljarError {
  const deadlines = live.flatMap(({ deadline }) => deadline?.getTime() ?? []);
  const first = deadlines.length === 0 ? undefined : Math.min(...deadlines);
  const when = first === undefined ? "" : `, or try again at ${new Date(first).toISOString()}, when the first reaches its deadline`;
  return new BelljarError("QUOTA_EXCEEDED", `The quota of ${quota} is used up (${state}): kill one of yours${when}${ofMissing(live)}`, {
    ...(first !== undefined && { retryAfterMs: Math.max(1_000, first - Date.now()) }),
  });
}

function ofMissing(live: readonly CountedSandbox[]): string {
  const names = live.flatMap(({ missingRuntime: name }) => (name === undefined ? [] : [name]));
  if (names.length === 0) return "";
  const runtimes = [...new Set(names)].map((name) => `"${name}"`).join(", ");
  return `. ${names.length} of them count because this Belljar does not have their runtime (${runtimes}): start a Belljar that has it, and kill them with that`;
}

function inMebibytes(bytes: number): string {
  return Number.isFinite(bytes) ? `${Math.ceil(bytes / MEBIBYTE)} MiB` : "an unlimited amount";
}
