import type { EditProblem } from "./store/unit-store.ts";
import type { UnitCounts } from "./unit-statistics.ts";
import type { UnitHead, UnitSpec, UnitVersion, VersionHead } from "./unit.ts";
import type { UnitDetail, UnitInfo } from "./wire/unit-schema.ts";

export function newestOf({ versions }: Pick<UnitHead, "versions">): VersionHead | undefined {
  return versions.at(-1);
}

/** Which version a list shows: the live one, else the newest. */
export function shownVersion(head: UnitHead): number {
  return head.live ?? newestOf(head)?.number ?? 0;
}

export function stateOf(head: UnitHead): UnitInfo["state"] {
  if (head.live !== undefined) return head.isDisabled ? "disabled" : "live";
  return newestOf(head)?.isTested ? "tested" : "draft";
}

/** The part of a version that a list shows. */
export interface ShownVersion extends Pick<UnitVersion, "number" | "createdAt" | "tools"> {
  readonly spec: Pick<UnitSpec, "language">;
}

/** What is known of a unit beside what is stored. */
export interface UnitFacts {
  readonly counts: UnitCounts;
  /** When counting began. */
  readonly since: Date;
  readonly problem?: EditProblem | undefined;
}

export function toInfo(head: UnitHead, { number, spec, tools, createdAt }: ShownVersion, { counts, since, problem }: UnitFacts): UnitInfo {
  const { calls, errors, totalMs, lastCalledAt } = counts;
  return {
    name: head.name,
    version: number,
    newest: newestOf(head)?.number ?? number,
    state: stateOf(head),
    language: spec.language,
    isShared: head.isShared,
    createdAt,
    tools: tools.map(({ function: _function, annotations: _annotations, ...shown }) => shown),
    stats: { calls, errors, averageMs: calls === 0 ? 0 : totalMs / calls, ...(lastCalledAt && { lastCalledAt }), since },
    ...(problem && { schema_error: toShownProblem(problem) }),
  };
}

/** A problem of no file in particular names none. */
export function toShownProblem({ file, ...problem }: EditProblem): NonNullable<UnitInfo["schema_error"]> {
  return { ...problem, ...(file !== "" && { file }) };
}

export function toDetail(head: UnitHead, version: UnitVersion, facts: UnitFacts): UnitDetail {
  const { language: _language, ...spec } = version.spec;
  return {
    ...toInfo(head, version, facts),
    ...spec,
    versions: head.versions.map(({ packages: _packages, ...shown }) => shown),
    lastErrors: facts.counts.lastErrors,
  };
}
