import { LOCAL } from "../../sandbox/sandbox.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatBytes, formatWhen, printJson, printTable } from "../print.ts";
import { madeFrom } from "../template-source-text.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const template = await (await stack.templates()).info(LOCAL, call.positionals[0] ?? "");
  if (isSet(call, "json")) printJson(context.stdout, template);
  else printTable(context.stdout, toRows(template));
  return 0;
}

function toRows(template: TemplateDetail): readonly (readonly string[])[] {
  const { source, createdAt, env, user, cwd, command, start, limits } = template;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["name", template.name],
    ["id", template.id],
    ["description", template.description],
    ["from", madeFrom(source)],
    ["digest", source.kind === "image" ? source.digest : undefined],
    ["platform", source.kind === "image" ? source.platform : undefined],
    ["created", `${createdAt.toISOString()} (${formatWhen(createdAt)})`],
    ["owner", template.isShared ? `${template.owner}, shared with everybody` : template.owner],
    ["runtime", template.runtime],
    ["base", template.base],
    ["layers", `${template.layers}, ${formatBytes(template.bytes)}`],
    ["user", user],
    ["folder", cwd],
    ["limits", limits && JSON.stringify(limits)],
    ["start", start && JSON.stringify(start)],
    ["command", command && JSON.stringify(command)],
    ...Object.entries(env).map(([name, value]) => ["variable", `${name}=${value}`] as const),
  ];
  return rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
}
