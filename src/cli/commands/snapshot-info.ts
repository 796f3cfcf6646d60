import { LOCAL } from "../../sandbox/sandbox.ts";
import type { SnapshotInfo } from "../../sandbox/state/snapshots.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatWhen, printJson, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const snapshot = await stack.sandboxes.snapshots.info(LOCAL, call.positionals[0] ?? "");
  if (isSet(call, "json")) printJson(context.stdout, snapshot);
  else printTable(context.stdout, toRows(snapshot));
  return 0;
}

function toRows(snapshot: SnapshotInfo): readonly (readonly string[])[] {
  const { workspace, createdAt, way, copyReason, stillMs } = snapshot;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["id", snapshot.id],
    ["name", snapshot.name],
    ["description", snapshot.description],
    ["created", `${createdAt.toISOString()} (${formatWhen(createdAt)})`],
    ["sandbox", snapshot.sandbox],
    ["runtime", snapshot.runtime],
    ["template", snapshot.template],
    ["owner", snapshot.owner],
    ["project", snapshot.project],
    ["workspace", workspace && `${workspace.path} (${workspace.mode}), whose own files are not in it`],
    ["took in", snapshot.tookIn],
    ["taken by", `${way}${copyReason ? ` (${copyReason})` : ""}, while the sandbox stood still for ${stillMs.toFixed(1)} ms`],
  ];
  return rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
}
