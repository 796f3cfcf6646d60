import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolFacts } from "../../catalog/late-tools.ts";
import { type Language, LANGUAGES } from "../../interpreter/language.ts";
import { describeExecuteCode } from "../../tools/code/describe-execute-code.ts";
import { packageRoot } from "./package-root.ts";

/** The facts of the built-in tools, as the build wrote them, with the languages of this server. To make them of zod takes longer than the rest of a start. */
export function readToolFacts(languages: readonly Language[] = LANGUAGES): readonly ToolFacts[] {
  const built = JSON.parse(readFileSync(join(packageRoot(), "dist/tools.json"), "utf8")) as readonly ToolFacts[];
  return built.map((tool) => (tool.name === "execute_code" ? { ...tool, description: describeExecuteCode(languages) } : tool));
}
