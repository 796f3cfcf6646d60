import { BelljarError, type ErrorCode } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { tellProblem } from "../edit-problem.ts";
import { isSameSpec } from "../store/manifest.ts";
import { type KeepOptions, type UnitLife, UNITS_MAX } from "../unit-life.ts";
import { allUnits } from "../unit-pages.ts";
import type { UnitSpec } from "../unit.ts";
import type { FoundUnit } from "./found-unit.ts";
import { specOf } from "./spec-of.ts";

export interface ImportOptions extends Required<KeepOptions> {
  /** One that is there already gets a new version, unless it is the same. Otherwise it is refused. */
  readonly updates: boolean;
  readonly signal: AbortSignal;
}

export interface ImportOutcome {
  readonly name: string;
  /** `published`: its newest version was the same, and callers did not have it. */
  readonly outcome: "added" | "updated" | "published" | "unchanged" | "refused";
  /** Why it was refused. */
  readonly error?: { readonly code: ErrorCode; readonly message: string };
}

/** What fails for one unit because of these fails for all. */
const OF_ALL: ReadonlySet<ErrorCode> = new Set([
  "SERVER_UNREACHABLE",
  "SERVER_INCOMPATIBLE",
  "UNAUTHORIZED",
  "CANCELLED",
  "DISK_FULL",
  "TOOL_STORE_UNAVAILABLE",
]);

/**
 * Takes the units up one after the other, each as an add or an update does: read in a sandbox, tested, and live or a draft. A unit that is
 * refused holds none of the others up. Rejects where none of the others could be taken up either; those before stay.
 */
export async function* importUnits(
  life: UnitLife,
  principal: Principal,
  units: AsyncIterable<FoundUnit>,
  options: ImportOptions,
): AsyncGenerator<ImportOutcome, void, undefined> {
  for await (const { name, found } of units) {
    if (found.kind === "invalid")
      yield { name, outcome: "refused", error: { code: "TOOL_INVALID", message: `${name}: ${tellProblem(found.problem)}` } };
    else yield { name, ...(await importUnit(life, principal, { name, spec: found.spec }, options)) };
  }
}

type Given = { readonly name: string; readonly spec: UnitSpec };

// eslint-disable-next-line max-params -- as `importUnits`
async function importUnit(
  life: UnitLife,
  principal: Principal,
  given: Given,
  options: ImportOptions,
): Promise<Omit<ImportOutcome, "name">> {
  try {
    return { outcome: await keep(life, principal, given, options) };
  } catch (cause) {
    if (!(cause instanceof BelljarError) || OF_ALL.has(cause.code) || options.signal.aborted) throw cause;
    if (cause.code === "QUOTA_EXCEEDED" && !options.updates && (await isFull(life, principal))) throw cause;
    return { outcome: "refused", error: { code: cause.code, message: cause.message } };
  }
}

// eslint-disable-next-line max-params -- as `importUnits`
async function keep(
  life: UnitLife,
  principal: Principal,
  given: Given,
  { updates, publish, signal }: ImportOptions,
): Promise<ImportOutcome["outcome"]> {
  const known = updates ? await findNewest(life, principal, given.name) : undefined;
  if (known && isSameSpec(known.spec, given.spec)) {
    if (!publish || known.isLive) return "unchanged";
    await life.publish(principal, given.name, signal);
    return "published";
  }
  if (known) await life.update(principal, given, signal, { publish });
  else await life.add(principal, given, signal, { publish });
  return known ? "updated" : "added";
}

/** Another quota, such as that of memory, may have room for the next one. */
async function isFull(life: UnitLife, principal: Principal): Promise<boolean> {
  return (await allUnits(life, principal)).tools.length >= UNITS_MAX;
}

interface NewestUnit {
  readonly spec: UnitSpec;
  readonly isLive: boolean;
}

async function findNewest(life: UnitLife, principal: Principal, name: string): Promise<NewestUnit | undefined> {
  try {
    const shown = await life.get(principal, name);
    const isNewest = shown.newest === shown.version;
    const spec = specOf(isNewest ? shown : await life.get(principal, name, shown.newest));
    return { spec, isLive: isNewest && shown.state === "live" };
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "TOOL_NOT_FOUND") return undefined;
    throw cause;
  }
}
