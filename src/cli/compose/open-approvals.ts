import { StoredApprovals } from "../../approvals/stored-approvals.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readConfig } from "./open-stack.ts";

/** The calls that wait for a person on the home, whichever process has been asked for them. */
export function openApprovals(call: CommandCall, context: CommandContext): StoredApprovals {
  return new StoredApprovals(readConfig(call, context).home);
}
