import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openApprovals } from "../compose/open-approvals.ts";
import { printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const calls = await openApprovals(call, context).list();
  if (isSet(call, "json")) printJson(stdout, calls);
  else if (calls.length === 0) printLine(stderr, "No call waits for you.");
  else {
    const rows = calls.map(({ id, tool, principal, isApproved, until }) => {
      return [id, tool, principal, isApproved ? "approved" : "waits", until.toISOString()];
    });
    printTable(stdout, rows, ["ID", "TOOL", "CALLER", "STATE", "UNTIL"]);
  }
  return 0;
}
