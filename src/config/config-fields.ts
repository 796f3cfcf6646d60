import * as z from "zod";
import { A_TIME, formatDuration, toMilliseconds } from "./duration.ts";
import { A_SIZE, formatSize, toBytes } from "./size.ts";

/** Environment variables are text. A text that is no number becomes NaN, which the schema refuses. */
function fromText(value: unknown): unknown {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : value;
}

function limitFromText(value: unknown): unknown {
  return value === "none" ? null : fromText(value);
}

/** The value with the unit of its setting, if it is a text: `2g`, `1h`. A plain number is one of bytes, or of milliseconds. */
function withUnit(parse: (text: string) => number | undefined, what: string) {
  return (value: unknown, context: z.RefinementCtx): unknown => {
    if (typeof value !== "string" || /^\s*-?[\d.]+\s*$/.test(value)) return fromText(value);
    const parsed = parse(value);
    if (parsed !== undefined) return parsed;
    context.addIssue({ code: "custom", message: `${JSON.stringify(value)} is not ${what}` });
    return z.NEVER;
  };
}

const readSize = withUnit(toBytes, A_SIZE);
const readTime = withUnit(toMilliseconds, A_TIME);

export function integer(min: number, max: number) {
  return z.preprocess(fromText, z.number().int().min(min).max(max));
}

function bytesFrom(min: number, max: number) {
  return z
    .number()
    .int()
    .min(min, `must be at least ${formatSize(min)}`)
    .max(max, `must be at most ${formatSize(max)}`);
}

/** Bytes, in the file and the environment also as a size. */
export function size(min: number, max = Number.MAX_SAFE_INTEGER) {
  return z.preprocess(readSize, bytesFrom(min, max));
}

/** Milliseconds, in the file and the environment also as a time. */
export function time(min: number, max: number) {
  const whole = z
    .number()
    .int()
    .min(min, `must be at least ${formatDuration(min)}`);
  return z.preprocess(readTime, whole.max(max, `must be at most ${formatDuration(max)}`));
}

/** "No limit" is `null` in the file and `none` in the environment. */
export function limit(min: number) {
  return z.preprocess(limitFromText, z.number().int().min(min).max(Number.MAX_SAFE_INTEGER).nullable());
}

export function sizeLimit(min: number) {
  const read = (value: unknown, context: z.RefinementCtx): unknown => (value === "none" ? null : readSize(value, context));
  return z.preprocess(read, bytesFrom(min, Number.MAX_SAFE_INTEGER).nullable());
}

export function cpus() {
  return z.preprocess(limitFromText, z.number().min(0.01).max(4096).nullable());
}

export function absolutePath() {
  return z
    .string()
    .max(4000)
    .refine((path) => path.startsWith("/") && !path.includes("\0"), "must be an absolute path");
}

function jsonFromText(value: unknown, context: z.RefinementCtx): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    context.addIssue({ code: "custom", message: "must be a JSON object" });
    return z.NEVER;
  }
}

/** Settings by name; in the environment as JSON. */
export function table<Value extends z.ZodType>(name: z.ZodType<string, string>, value: Value) {
  return z.preprocess(jsonFromText, z.record(name, value));
}

function splitNames(value: unknown): unknown {
  return typeof value === "string" ? value.split(",").map((name) => name.trim()) : value;
}

/** As `names`, of these alone. */
export function choices<const Name extends string>(...known: readonly Name[]) {
  return z.preprocess(splitNames, z.array(z.enum(known)).min(1).max(known.length));
}

/** A list in the file, comma-separated names in the environment and on the command line. */
export function names() {
  return z.preprocess(
    splitNames,
    z
      .array(z.string().regex(/^[a-z0-9_-]{1,40}$/))
      .min(1)
      .max(100),
  );
}

/** Checks only the length. The network room checks the rules. */
export function policy() {
  return z.string().min(1).max(65_536);
}

export function addresses() {
  const split = (value: unknown): unknown => (typeof value === "string" ? value.split(",").map((one) => one.trim()) : value);
  const server = z.union([z.ipv4(), z.ipv6(), z.string().regex(/^((\d{1,3}\.){3}\d{1,3}|\[[0-9a-fA-F:.]+\]):\d{1,5}$/)]);
  return z.preprocess(split, z.array(server).min(1).max(16));
}

export function flag() {
  const read = (value: unknown): unknown => (value === "true" || value === "1" ? true : value === "false" || value === "0" ? false : value);
  return z.preprocess(read, z.boolean());
}

/** Absolute, or relative to the directory in which the command starts. */
export function anyPath() {
  return z.string().min(1).max(4096).optional();
}
