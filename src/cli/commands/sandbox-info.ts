import { formatDuration } from "../../config/duration.ts";
import { formatPolicy } from "../../sandbox/network-ceiling.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { SandboxInfo } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatBytes, formatWhen, printJson, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const info = await stack.sandboxes.info(LOCAL, call.positionals[0] ?? "");
  if (isSet(call, "json")) printJson(context.stdout, info);
  else printTable(context.stdout, toRows(info));
  return 0;
}

function toRows(info: SandboxInfo): readonly (readonly string[])[] {
  const end = info.endedAt ? `${info.endReason ?? "unknown"}, ${formatWhen(info.endedAt)}` : undefined;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["id", info.id],
    ["name", info.name],
    ["state", info.stateReason === undefined ? info.state : `${info.state}: ${info.stateReason}`],
    ["runtime", info.runtime],
    ["template", info.template],
    ["owner", info.owner],
    ["created", `${info.createdAt.toISOString()} (${formatWhen(info.createdAt)})`],
    ["deadline", info.deadline && !end ? `${info.deadline.toISOString()} (${formatWhen(info.deadline)})` : undefined],
    ["at the deadline", end ? undefined : info.onDeadline],
    ["paused when idle for", info.pauseIdleMs === undefined ? undefined : formatDuration(info.pauseIdleMs)],
    [info.state === "stopped" ? "stopped" : "ended", end],
    ["files", info.keptBytes === undefined ? undefined : formatBytes(info.keptBytes)],
    ["kept until", info.keptUntil && `${info.keptUntil.toISOString()} (${formatWhen(info.keptUntil)})`],
    ["network", formatPolicy(info.network)],
    ["network at most", info.networkCeiling && formatPolicy(info.networkCeiling)],
    ["took in", info.tookIn],
    ["workspace", info.workspace ? `${info.workspace.path} (${info.workspace.mode})` : undefined],
    ["project", info.project],
    ["default for", info.defaultName],
    ...Object.entries(info.secrets ?? {}).map(
      ([name, { secret, hosts }]) => [`secret ${name}`, `${secret} for ${hosts.join(", ")}`] as const,
    ),
    ...limitRows(info),
    ...Object.entries(info.metadata).map(([key, value]) => [`label ${key}`, value] as const),
  ];
  return rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
}

function limitRows({ limits, unenforced }: SandboxInfo): readonly (readonly [string, string])[] {
  return Object.entries(limits).map(([name, value]) => {
    const text = name.endsWith("Bytes") ? formatBytes(value) : String(value);
    const open = unenforced.some((limit) => limit === name) ? " (not enforced on this host)" : "";
    return [`limit ${name.replace("Bytes", "")}`, `${text}${open}`] as const;
  });
}
