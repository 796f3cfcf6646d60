import { BelljarError } from "../errors.ts";
import type { Limits } from "../runtime/runtime.ts";
import type { CreateOptions } from "./sandbox.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

const LIMIT_NAMES = ["memoryBytes", "cpus", "pids", "diskBytes", "openFiles"] as const satisfies readonly (keyof Limits)[];
const MEBIBYTE = 2 ** 20;
/** Below the least no guest can serve; above the most the kernel refuses. */
const LIMIT_RANGES: Readonly<Record<keyof Limits, readonly [number, number]>> = {
  memoryBytes: [16 * MEBIBYTE, 2 ** 52],
  cpus: [0.01, 4096],
  pids: [8, 2 ** 22],
  diskBytes: [MEBIBYTE, 2 ** 52],
  openFiles: [64, 2 ** 20],
};
const MAX_ENTRIES = 256;
const MAX_TEXT_BYTES = 65_536;
const MAX_TIMEOUT_MS = 3650 * 24 * 3_600_000;

/** Limits and life of a sandbox whose maker names none. */
export type SandboxDefaults = Limits & { readonly timeoutMs: number; readonly nestedFilters?: boolean };

/** A caller's wish, checked and filled up with defaults. */
export type CreateRequest = Pick<
  SandboxRecord,
  "template" | "timeoutMs" | "limits" | "workspace" | "metadata" | "env" | "ephemeral" | "nestedFilters"
> & {
  /** Limits without which there shall be no sandbox. */
  readonly required: readonly (keyof Limits)[];
};

/** Rejects with `ARGUMENTS_INVALID` what no sandbox can have. */
export function parseCreateOptions(options: CreateOptions, defaults: SandboxDefaults): CreateRequest {
  const named = namedLimits(options.limits ?? {});
  return {
    template: parseTemplate(options.template ?? "base"),
    timeoutMs: parseTimeout(options.timeoutMs ?? defaults.timeoutMs),
    limits: { ...namedLimits(defaults), ...named },
    required: options.bestEffort ? [] : LIMIT_NAMES.filter((name) => name in named),
    ...(options.workspace && { workspace: { ...options.workspace } }),
    metadata: parseTexts("metadata", options.metadata ?? {}, /^[^\0]{1,128}$/),
    env: parseTexts("env", options.env ?? {}, /^[A-Za-z_][A-Za-z0-9_]{0,127}$/),
    ephemeral: options.ephemeral ?? false,
    ...((options.nestedFilters ?? defaults.nestedFilters) && { nestedFilters: true }),
  };
}

/** How long from now, in milliseconds; rejects with `ARGUMENTS_INVALID`. */
export function parseTimeout(timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  throw new BelljarError("ARGUMENTS_INVALID", `A sandbox's timeout must be between 1 and ${MAX_TIMEOUT_MS} ms`);
}

function namedLimits(limits: Limits): Limits {
  const named = LIMIT_NAMES.flatMap((name) => {
    const value = limits[name];
    return value === undefined ? [] : [[name, parseLimit(name, value)] as const];
  });
  return Object.fromEntries(named);
}

function parseLimit(name: keyof Limits, value: number): number {
  const [least, most] = LIMIT_RANGES[name];
  if (value >= least && value <= most && (name === "cpus" || Number.isInteger(value))) return value;
  const kind = name === "cpus" ? "number" : "whole number";
  throw new BelljarError("ARGUMENTS_INVALID", `The limit ${name} must be a ${kind} from ${least} to ${most}`);
}

function parseTemplate(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,62}$/.test(name)) return name;
  throw new BelljarError("ARGUMENTS_INVALID", "A template's name has 1 to 63 characters: a-z, 0-9, dot, dash and underscore");
}

function parseTexts(what: string, texts: Readonly<Record<string, string>>, key: RegExp): Record<string, string> {
  const entries = Object.entries(texts);
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (entries.length > MAX_ENTRIES || bytes > MAX_TEXT_BYTES)
    throw new BelljarError("ARGUMENTS_INVALID", `The ${what} of a sandbox has at most ${MAX_ENTRIES} entries and ${MAX_TEXT_BYTES} bytes`);
  const bad = entries.find(([name, value]) => !key.test(name) || value.includes("\0"));
  if (bad) throw new BelljarError("ARGUMENTS_INVALID", `The ${what} of a sandbox has a bad entry: ${JSON.stringify(bad[0].slice(0, 128))}`);
  return Object.fromEntries(entries);
}
