import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { checkpointBeforeCalls } from "../../sandbox/state/last-call.ts";
import type { Checkpoint } from "../../sandbox/wire/state-schemas.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printRollback } from "../print-rollback.ts";
import { withProgress } from "../progress.ts";
import { usage } from "../usage.ts";
import { parseCount } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", named] = call.positionals;
  const calls = textOption(call, "calls");
  if (named !== undefined && calls !== undefined) throw usage("CALL and --calls are two ways to say it: give one", "belljar rewind --help");
  const count = parseCount("calls", calls ?? "1");
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const point = named === undefined ? await checkpointBeforeCalls(sandbox, count) : await findCall(sandbox, named);
  const result = await withProgress(context.stderr, "Rewinding", sandbox.timeLine.rollback(point.id, context.signal));
  printRollback(call, context, { ...result, before: point.before });
  return 0;
}

/** Rejects with `CHECKPOINT_NOT_FOUND`, also for a checkpoint that somebody asked for. */
async function findCall({ id, timeLine }: Sandbox, named: string): Promise<Checkpoint> {
  const { checkpoints } = await timeLine.list();
  const found = checkpoints.find((one) => one.id === named && one.before !== undefined);
  if (found) return found;
  throw new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `Sandbox ${id} has no checkpoint ${JSON.stringify(named.slice(0, 64))} before a call: see \`belljar log ${id}\`; \`belljar rollback\` goes to others`,
  );
}
