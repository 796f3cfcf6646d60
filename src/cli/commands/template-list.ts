import { LOCAL } from "../../sandbox/sandbox.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatBytes, formatWhen, printJson, printLine, printTable } from "../print.ts";
import { madeFrom } from "../template-source-text.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const found = await (await stack.templates()).list(LOCAL);
  const { stdout, stderr } = context;
  if (isSet(call, "quiet")) for (const { name } of found) printLine(stdout, name);
  else if (isSet(call, "json")) printJson(stdout, found);
  else if (found.length === 0)
    printLine(stderr, "No templates beside `base`, this machine's own programs. `belljar template import NAME IMAGE` makes one.");
  else printTable(stdout, found.map(toRow), ["NAME", "FROM", "LAYERS", "SIZE", "CREATED", "DESCRIPTION"]);
  return 0;
}

function toRow({ name, source, layers, bytes, createdAt, description }: TemplateDetail): readonly string[] {
  return [name, madeFrom(source), String(layers), formatBytes(bytes), formatWhen(createdAt), description ?? ""];
}
