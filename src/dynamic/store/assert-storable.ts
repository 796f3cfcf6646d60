import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { UnitHead, UnitVersion } from "../unit.ts";
import { unitHeadSchema, unitVersionSchema } from "./stored-unit.ts";
import type { UnitId } from "./unit-store.ts";

/** Throws `ARGUMENTS_INVALID` for a head or a version that a store could not give back, and for a head that does not follow. */
export function assertStorable(head: UnitHead, expected: number, added: UnitVersion | undefined): void {
  const isNamed = added === undefined || head.versions.some(({ number }) => number === added.number);
  const checked = [z.safeEncode(unitHeadSchema, head), ...(added ? [z.safeEncode(unitVersionSchema, added)] : [])];
  const issue = checked.flatMap(({ error }) => error?.issues ?? [])[0];
  if (issue === undefined && isNamed && head.revision === expected + 1) return;
  const reason = issue ? `${issue.path.map(String).join(".")}: ${issue.message}` : "its revision and versions do not follow";
  throw new BelljarError("ARGUMENTS_INVALID", `The tools ${JSON.stringify(head.name.slice(0, 100))} cannot be stored: ${reason}`);
}

/** For a head that names a version which is neither stored nor added. */
export function versionMissing({ name }: UnitId, number: number): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `Version ${number} of ${JSON.stringify(name)} is not stored: add it with the head`);
}

export function changedMeanwhile({ name }: UnitId): BelljarError {
  return new BelljarError("TOOL_CONFLICT", `The tools ${JSON.stringify(name)} were changed meanwhile: look at them, and try again`);
}

export function ownerBusy(): BelljarError {
  return new BelljarError("TOOL_STORE_BUSY", "Another process changes tools of the same owner, and takes long: try again");
}
