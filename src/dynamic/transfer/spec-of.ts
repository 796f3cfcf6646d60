import * as z from "zod";
import { manifestSchema } from "../store/stored-unit.ts";
import type { UnitSpec } from "../unit.ts";
import type { UnitDetail } from "../wire/unit-schema.ts";

const manifest = z.object(manifestSchema.shape);

/** What its author wrote, of all that is known of a version. */
export function specOf(unit: UnitDetail): UnitSpec {
  return { language: unit.language, code: unit.code, ...manifest.parse(unit) };
}
