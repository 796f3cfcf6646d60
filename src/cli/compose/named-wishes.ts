import type { DefaultWishes } from "../../sandbox/sandbox.ts";
import type { CommandCall } from "../command.ts";
import { namedLifetime, namedLimits } from "../limit-options.ts";
import { networkOption } from "./configured-policy.ts";

/** What the command line of a serving command says about default sandboxes. Undefined if it says nothing. */
export async function namedWishes(call: CommandCall): Promise<DefaultWishes | undefined> {
  const limits = namedLimits(call);
  const timeoutMs = namedLifetime(call);
  const wishes = {
    ...(await networkOption(call)),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  return Object.keys(wishes).length > 0 ? wishes : undefined;
}
