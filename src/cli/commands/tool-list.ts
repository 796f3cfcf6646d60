import { tellProblem } from "../../dynamic/edit-problem.ts";
import { allUnits } from "../../dynamic/unit-pages.ts";
import type { UnitInfo } from "../../dynamic/wire/unit-schema.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { withProgress } from "../progress.ts";
import { formatWhen, printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const { tools: found, problems } = await withProgress(context.stderr, "Looking at the tools", allUnits(await stack.userTools(), LOCAL));
  const { stdout, stderr } = context;
  if (isSet(call, "quiet")) for (const { name } of found) printLine(stdout, name);
  else if (isSet(call, "json")) printJson(stdout, found);
  else if (found.length === 0)
    printLine(stderr, "No tools. `belljar tool add FILE` makes one of a Python, JavaScript, TypeScript or shell file.");
  else printTable(stdout, found.map(toRow), ["NAME", "STATE", "VERSION", "LANGUAGE", "TOOLS", "CHANGED"]);
  for (const { name, schema_error: problem } of found) if (problem) printLine(stderr, `${name}: ${tellProblem(problem)}`);
  for (const { name, ...problem } of problems) printLine(stderr, `${name}: ${tellProblem(problem)}`);
  return 0;
}

function toRow({ name, state, isShared, version, newest, language, tools, createdAt }: UnitInfo): readonly string[] {
  const versions = version === newest ? String(version) : `${version} (newest ${newest})`;
  return [name, isShared ? `${state}, shared` : state, versions, language, tools.map((tool) => tool.name).join(" "), formatWhen(createdAt)];
}
