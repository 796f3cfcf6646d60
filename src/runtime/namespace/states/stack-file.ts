import { unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { fileError, ifPresent } from "../../../files/file-error.ts";
import { isUnflushed, parseJson } from "../../../files/parse-json.ts";
import { readNow } from "../../../files/read-now.ts";
import { flushPath, replaceFile } from "../../../files/replace-file.ts";
import type { Run } from "../../contract/run.ts";

/** What lies below the writable layers of a sandbox. */
export interface Stack {
  /** Frozen layers, the topmost first. */
  readonly below: readonly string[];
  /** The layer whose copy the writable layers of a first run begin with, until the run is up. */
  readonly origin?: string;
  /** The sandbox is being put back to this state: its next run starts with it. */
  readonly rewindsTo?: readonly string[];
  /** What the sandbox has written becomes this layer, on top of the others, or has become it. Nobody has written yet which. */
  readonly raises?: string;
  /** One layer shows what these neighbours show, or will: `merged-layers.ts`. */
  readonly merges?: MergedStack;
  /** With that raise it takes their place. */
  readonly takesMerged?: true;
  /** Layers that the sandbox lies on no more, and lets go of. */
  readonly past?: readonly string[];
}

export interface MergedStack {
  readonly layer: string;
  /** The topmost first. */
  readonly of: readonly string[];
}

const NOTHING: Stack = { below: [] };

/**
 * The stack of a sandbox that started from a state, or was put back to one: `runs/stack.json`. There is none of any other. Rejects with
 * `SANDBOX_FILES_LOST` for one that a power cut has left empty.
 */
export async function readStack(run: Run): Promise<Stack> {
  const path = stackFile(run);
  const text = readNow(path);
  if (text !== undefined && isUnflushed(text))
    throw new BelljarError("SANDBOX_FILES_LOST", "A power cut has taken the list of what the sandbox lies on");
  return text === undefined ? NOTHING : (parseStack(text) ?? refuse(path));
}

/** `flush`: a power cut leaves this stack or the one before, and never half of one. */
export async function writeStack(run: Run, stack: Stack, { flush = false } = {}): Promise<void> {
  const path = stackFile(run);
  try {
    await replaceFile(path, JSON.stringify({ version: 1, ...stack }), { flush });
  } catch (cause) {
    throw fileError(path, cause);
  }
}

/** The stack of a sandbox, or that it has none, outlives a power cut. */
export async function flushStack(run: Run): Promise<void> {
  const path = stackFile(run);
  await ifPresent(path, flushPath(path));
  await ifPresent(path, flushPath(dirname(path)));
}

export async function removeStack(run: Run): Promise<void> {
  const path = stackFile(run);
  await ifPresent(path, unlink(path));
}

function stackFile({ folder }: Run): string {
  return join(folder, "runs", "stack.json");
}

function parseStack(text: string): Stack | undefined {
  const found = parseJson(text) as Record<string, unknown> | undefined | null;
  if (found?.version !== 1 || !isList(found.below)) return undefined;
  const { below, origin, rewindsTo, raises, merges, takesMerged, past } = found;
  if ([rewindsTo, past].some((list) => list !== undefined && !isList(list))) return undefined;
  if ([origin, raises].some((layer) => layer !== undefined && !isLayer(layer))) return undefined;
  if (merges !== undefined && !isMerged(merges)) return undefined;
  if (takesMerged !== undefined && !(takesMerged === true && merges && raises)) return undefined;
  return { below, ...defined({ origin, rewindsTo, raises, merges, takesMerged, past }) };
}

function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function isMerged(value: unknown): boolean {
  const { layer, of } = (value ?? {}) as Record<string, unknown>;
  return isLayer(layer) && isList(of) && of.length > 0;
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isLayer);
}

function isLayer(value: unknown): value is string {
  return typeof value === "string" && /^[a-z0-9]{20}$/.test(value);
}

/** With another stack the sandbox would show other files. */
function refuse(path: string): never {
  throw new BelljarError("FILE_IO", `${path} is damaged, so the sandbox is left alone: restore it from a backup`);
}
