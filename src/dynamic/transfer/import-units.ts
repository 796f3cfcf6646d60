import { BelljarError, type ErrorCode } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { tellProblem } from "../edit-problem.ts";
import { isSameSpec } from "../store/manifest.ts";
import type { KeepOptions, UnitLife } from "../unit-life.ts";
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
  readonly outcome: "added" | "updated" | "unchanged" | "refused";
  /** Why it was refused. */
  readonly error?: { readonly code: ErrorCode; readonly message: string };
}

/** What fails for one unit because of these fails for all. */
const OF_ALL: ReadonlySet<ErrorCode> = new Set(["SERVER_UNREACHABLE", "SERVER_INCOMPATIBLE", "UNAUTHORIZED", "CANCELLED", "DISK_FULL"]);

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
  const known = updates ? await newestSpec(life, principal, given.name) : undefined;
  if (known && isSameSpec(known, given.spec)) return "unchanged";
  if (known) await life.update(principal, given, signal, { publish });
  else await life.add(principal, given, signal, { publish });
  return known ? "updated" : "added";
}

async function newestSpec(life: UnitLife, principal: Principal, name: string): Promise<UnitSpec | undefined> {
  try {
    const shown = await life.get(principal, name);
    return specOf(shown.newest === shown.version ? shown : await life.get(principal, name, shown.newest));
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "TOOL_NOT_FOUND") return undefined;
    throw cause;
  }
}
