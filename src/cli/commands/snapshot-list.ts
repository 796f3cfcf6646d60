import { LOCAL } from "../../sandbox/sandbox.ts";
import type { SandboxInfo, Sandboxes } from "../../sandbox/sandbox.ts";
import type { SnapshotInfo } from "../../sandbox/state/snapshots.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatWhen, printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const snapshots = await stack.sandboxes.snapshots.list(LOCAL, await filterOf(call, stack.sandboxes));
  if (isSet(call, "quiet")) for (const { id } of snapshots) printLine(context.stdout, id);
  else if (isSet(call, "json")) printJson(context.stdout, snapshots);
  else if (snapshots.length === 0) printLine(context.stderr, "No snapshots. `belljar snapshot create ID` takes one of a sandbox.");
  else printTable(context.stdout, snapshots.map(toRow), ["ID", "NAME", "CREATED", "SANDBOX", "DESCRIPTION"]);
  return 0;
}

/** The sandbox may have ended. */
async function filterOf(call: CommandCall, sandboxes: Pick<Sandboxes, "info">): Promise<{ readonly sandbox?: SandboxInfo["id"] }> {
  const named = textOption(call, "sandbox");
  return named === undefined ? {} : { sandbox: (await sandboxes.info(LOCAL, named)).id };
}

function toRow({ id, name, createdAt, sandbox, description }: SnapshotInfo): readonly string[] {
  return [id, name ?? "-", formatWhen(createdAt), sandbox, description ?? ""];
}
