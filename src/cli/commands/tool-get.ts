import type { UnitDetail } from "../../dynamic/wire/unit-schema.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatWhen, plural, printJson, printLine, printTable } from "../print.ts";
import { parseVersion } from "../tool-version.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const version = textOption(call, "version");
  await using stack = await openStack(call, context);
  const tools = await stack.userTools();
  const unit = await tools.get(
    LOCAL,
    call.positionals[0] ?? "",
    version === undefined ? undefined : parseVersion(version, `belljar ${call.spec.name} --help`),
  );
  const { stdout } = context;
  if (isSet(call, "json")) printJson(stdout, unit);
  else if (isSet(call, "code")) stdout.write(unit.code.endsWith("\n") ? unit.code : `${unit.code}\n`);
  else {
    printTable(stdout, toRows(unit));
    printLine(stdout, `\n${unit.code}`);
  }
  return 0;
}

function toRows(unit: UnitDetail): readonly (readonly string[])[] {
  const {
    name,
    state,
    isShared,
    version,
    newest,
    language,
    createdAt,
    tools,
    network,
    secrets,
    limits,
    requirements,
    calls,
    tests,
    reuse,
    timeoutMs,
    versions,
    stats,
  } = unit;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["name", name],
    ["state", isShared ? `${state}, shared with everybody` : state],
    ["version", version === newest ? String(version) : `${version}, newest ${newest}`],
    ["language", language],
    ["created", `${createdAt.toISOString()} (${formatWhen(createdAt)})`],
    ...tools.map((tool) => ["tool", `${tool.name} ${JSON.stringify(tool.inputSchema)}`] as const),
    ["requires", requirements?.join(" ")],
    ["calls tools", calls?.join(" ")],
    ["reuse", reuse],
    ["timeout", timeoutMs === undefined ? undefined : `${timeoutMs} ms`],
    ["network", network && JSON.stringify(network)],
    ["secrets", secrets && Object.keys(secrets).join(" ")],
    ["limits", limits && JSON.stringify(limits)],
    ["tests", tests && String(tests.length)],
    ["versions", versions.map(toVersion).join(" ")],
    ["called", `${plural(stats.calls, "time")}, of which ${stats.errors} failed`],
  ];
  return rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
}

/** With what `tool rollback` takes. */
function toVersion({ number, wasLive }: UnitDetail["versions"][number]): string {
  return wasLive ? `${number} (was live)` : String(number);
}
