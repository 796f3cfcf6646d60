import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolFacts } from "../../catalog/late-tools.ts";
import { packageRoot } from "./package-root.ts";

/** The facts of the built-in tools, as the build wrote them. To make them of zod takes longer than the rest of a start. */
export function readToolFacts(): readonly ToolFacts[] {
  return JSON.parse(readFileSync(join(packageRoot(), "dist/tools.json"), "utf8")) as readonly ToolFacts[];
}
