import { listAll } from "../../sandbox/list-sandboxes.ts";
import { LIVE_STATES, LOCAL, SANDBOX_STATES } from "../../sandbox/sandbox.ts";
import type { ListFilter, SandboxInfo, SandboxState } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOptions } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { usage } from "../usage.ts";
import { formatBytes, formatWhen, printJson, printLine, printTable } from "../print.ts";
import { parsePairs } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const filter = toFilter(call);
  await using stack = await openStack(call, context);
  const infos: SandboxInfo[] = [];
  for await (const info of listAll(stack.sandboxes, LOCAL, filter)) infos.push(info);
  if (isSet(call, "quiet")) for (const { id } of infos) printLine(context.stdout, id);
  else if (isSet(call, "json")) printJson(context.stdout, infos);
  else if (infos.length === 0)
    printLine(context.stderr, "No sandboxes. `belljar sandbox create` makes one; --all shows those that have ended.");
  else printTable(context.stdout, infos.map(toRow), ["ID", "NAME", "STATE", "CREATED", "ENDS", "PROJECT", "LABELS"]);
  return 0;
}

function toFilter(call: CommandCall): ListFilter {
  const named = textOptions(call, "state").map(toState);
  const metadata = parsePairs("metadata", textOptions(call, "metadata"));
  const state = named.length > 0 ? named : isSet(call, "all") ? SANDBOX_STATES : LIVE_STATES;
  return { state, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

function toState(text: string): SandboxState {
  const state = SANDBOX_STATES.find((one) => one === text);
  if (!state) throw usage(`--state "${text}" is unknown; expected one of ${SANDBOX_STATES.join(", ")}`, "belljar sandbox list --help");
  return state;
}

function toRow(info: SandboxInfo): readonly string[] {
  const ends = endsOf(info);
  const labels = Object.entries(info.metadata).map(([key, value]) => `${key}=${value}`);
  const all = info.defaultName === undefined ? labels : [`default:${info.defaultName}`, ...labels];
  return [info.id, info.name ?? "-", info.state, formatWhen(info.createdAt), ends, info.project ?? "-", all.join(" ")];
}

function endsOf({ endedAt, endReason, deadline, keptUntil, keptBytes }: SandboxInfo): string {
  if (!endedAt) return deadline ? formatWhen(deadline) : "never";
  const kept = [keptBytes === undefined ? undefined : formatBytes(keptBytes), keptUntil && `removed ${formatWhen(keptUntil)}`];
  return [`${endReason ?? "ended"} ${formatWhen(endedAt)}`, ...kept.filter((text) => text !== undefined)].join(", ");
}
