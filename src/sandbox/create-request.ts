import { BelljarError } from "../errors.ts";
import type { DeadlineAction } from "../runtime/contract/run.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import { DEFAULT_BASE } from "../runtime/contract/sandbox-spec.ts";
import { isSandboxName } from "./sandbox-id.ts";
import type { CreateOptions } from "./sandbox.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { autoCheckpoint, deadlineAction } from "./wire/fields.ts";
import { labelsSchema, variablesSchema } from "./wire/texts-schema.ts";

const LIMIT_NAMES = ["memoryBytes", "cpus", "pids", "diskBytes", "openFiles"] as const satisfies readonly (keyof Limits)[];
const MEBIBYTE = 2 ** 20;
const TEBIBYTE = 2 ** 40;
/** Below the least no guest can serve; above the most the kernel refuses. */
const LIMIT_RANGES: Readonly<Record<keyof Limits, readonly [number, number]>> = {
  memoryBytes: [16 * MEBIBYTE, 2 ** 52],
  cpus: [0.01, 4096],
  pids: [8, 2 ** 22],
  diskBytes: [MEBIBYTE, 2 ** 52],
  openFiles: [64, 2 ** 20],
};
const MAX_TIMEOUT_MS = 3650 * 24 * 3_600_000;

/** Limits and life of a sandbox whose maker names none. */
export type SandboxDefaults = Limits & {
  readonly timeoutMs: number;
  readonly pauseIdleMs?: number;
  readonly nestedFilters?: boolean;
  readonly root?: boolean;
};

/** A caller's wish, checked and filled up with defaults. */
export type CreateRequest = Pick<
  SandboxRecord,
  | "name"
  | "template"
  | "timeoutMs"
  | "onDeadline"
  | "pauseIdleMs"
  | "limits"
  | "required"
  | "workspace"
  | "project"
  | "metadata"
  | "env"
  | "ephemeral"
  | "nestedFilters"
  | "root"
  | "autoCheckpoint"
>;

/** Throws `ARGUMENTS_INVALID` for what no sandbox can have, `FORBIDDEN` for what the configuration forbids. */
export function parseCreateOptions(options: CreateOptions, defaults: SandboxDefaults): CreateRequest {
  const named = namedLimits(options.limits ?? {});
  return {
    ...(options.name !== undefined && { name: parseName(options.name) }),
    template: parseTemplate(options.template ?? DEFAULT_BASE.template),
    timeoutMs: parseTimeout(options.timeoutMs ?? defaults.timeoutMs),
    ...(options.onDeadline !== undefined && { onDeadline: parseAction(options.onDeadline) }),
    ...parseIdle(options.pauseIdleMs ?? defaults.pauseIdleMs ?? 0),
    limits: { ...namedLimits(defaults), ...named },
    required: options.bestEffort ? [] : LIMIT_NAMES.filter((name) => name in named),
    ...(options.workspace && { workspace: { path: options.workspace.path, mode: options.workspace.mode } }),
    ...(options.project !== undefined && { project: options.project }),
    metadata: parseTexts("metadata", labelsSchema, options.metadata),
    env: parseTexts("env", variablesSchema, options.env),
    ephemeral: options.ephemeral ?? false,
    ...((options.nestedFilters ?? defaults.nestedFilters) && { nestedFilters: true }),
    ...(!parseRoot(options.root, defaults.root) && { root: false }),
    ...(options.autoCheckpoint !== undefined && { autoCheckpoint: parseAutoCheckpoint(options.autoCheckpoint) }),
  };
}

/** How long from now, in milliseconds; rejects with `ARGUMENTS_INVALID`. */
export function parseTimeout(timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  throw new BelljarError("ARGUMENTS_INVALID", `A sandbox's timeout must be between 1 and ${MAX_TIMEOUT_MS} ms`);
}

/** A keeper that looks too often takes time from everybody. */
const IDLE_LEAST_MS = 1_000;

function parseIdle(pauseIdleMs: number): Pick<CreateRequest, "pauseIdleMs"> {
  if (pauseIdleMs === 0) return {};
  if (Number.isInteger(pauseIdleMs) && pauseIdleMs >= IDLE_LEAST_MS && pauseIdleMs <= MAX_TIMEOUT_MS) return { pauseIdleMs };
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `The idle time before a pause is ${IDLE_LEAST_MS} to ${MAX_TIMEOUT_MS} ms, or 0 for no such pause`,
  );
}

/** Callers of the library may say anything. */
function parseAction(action: unknown): DeadlineAction {
  const parsed = deadlineAction.safeParse(action);
  if (parsed.success) return parsed.data;
  throw new BelljarError("ARGUMENTS_INVALID", "What happens at a sandbox's deadline is kill, pause or stop");
}

function parseAutoCheckpoint(wish: unknown): NonNullable<SandboxRecord["autoCheckpoint"]> {
  const parsed = autoCheckpoint.safeParse(wish);
  if (parsed.success) return parsed.data;
  throw new BelljarError("ARGUMENTS_INVALID", "Automatic checkpoints of a sandbox are per_call or off");
}

/** The configuration's `false` holds for every sandbox, whatever its maker asks. */
function parseRoot(asked: boolean | undefined, isAllowed = true): boolean {
  if (asked && !isAllowed)
    throw new BelljarError("FORBIDDEN", "The configuration (sandbox.root) allows no root in sandboxes: leave out `root`");
  return isAllowed && asked !== false;
}

/** Those that are there. Throws `ARGUMENTS_INVALID` for one that no sandbox can have. */
export function namedLimits(limits: Limits): Limits {
  const named = LIMIT_NAMES.flatMap((name) => {
    const value = limits[name];
    return value === undefined ? [] : [[name, parseLimit(name, value)] as const];
  });
  return Object.fromEntries(named);
}

function parseLimit(name: keyof Limits, value: number): number {
  const [least, most] = LIMIT_RANGES[name];
  if (value >= least && value <= most && (name === "cpus" || Number.isInteger(value))) return value;
  const isSize = name.endsWith("Bytes");
  const range = isSize ? `${least} to ${most} bytes (${least / MEBIBYTE}m to ${most / TEBIBYTE}t)` : `${least} to ${most}`;
  throw new BelljarError("ARGUMENTS_INVALID", `The limit ${name} must be a ${name === "cpus" ? "number" : "whole number"} from ${range}`);
}

function parseTemplate(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,62}$/.test(name)) return name;
  throw new BelljarError("ARGUMENTS_INVALID", "A template's name has 1 to 63 characters: a-z, 0-9, dot, dash and underscore");
}

function parseName(name: string): string {
  if (isSandboxName(name)) return name;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `A sandbox's name has 1 to 63 letters, digits, dots, dashes and underscores, begins with a letter or a digit, and looks like no id`,
  );
}

function parseTexts(what: string, schema: typeof labelsSchema, texts: Readonly<Record<string, string>> = {}): Record<string, string> {
  const parsed = schema.safeParse(texts);
  if (parsed.success) return parsed.data;
  const { code, message, path } = parsed.error.issues[0] ?? {};
  const problem = code === "custom" ? message : `a bad entry: ${JSON.stringify(String(path?.[0] ?? "").slice(0, 128))}`;
  throw new BelljarError("ARGUMENTS_INVALID", `The ${what} of a sandbox has ${problem}`);
}
