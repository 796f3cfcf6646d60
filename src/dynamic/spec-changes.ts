import { installerOf } from "./packages/named-packages.ts";
import type { UnitSpec } from "./unit.ts";

type Clearable<T> = { readonly [Key in keyof T]?: T[Key] | null | undefined };
type Limits = NonNullable<UnitSpec["limits"]>;

/** What a version has otherwise than the one before: a field that is absent stays, null clears it. Of the limits each is a field of its own. */
export type SpecChanges = Clearable<Omit<UnitSpec, "language" | "code" | "limits">> & {
  readonly language?: UnitSpec["language"] | undefined;
  readonly code?: string | undefined;
  readonly limits?: Clearable<Limits> | null | undefined;
};

/** Requirements name packages of one installer: they go with the language that has it, unless new ones are given. */
export function withChanges(spec: UnitSpec, { limits, ...changes }: SpecChanges): UnitSpec {
  const { requirements: _requirements, sdist: _sdist, ...rest } = spec;
  const stays = changes.language === undefined || installerOf(changes.language) === installerOf(spec.language);
  const kept: UnitSpec = stays ? spec : rest;
  const limited = limits === null ? {} : merged<Limits>(kept.limits ?? {}, limits ?? {});
  return merged<UnitSpec>(kept, { ...changes, limits: Object.keys(limited).length > 0 ? limited : null });
}

function merged<T extends object>(before: T, changes: Clearable<T>): T {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(Object.entries({ ...before, ...Object.fromEntries(given) }).filter(([, value]) => value !== null)) as T;
}
