import type { CommandCall, CommandContext } from "../command.ts";
import { eachSandbox } from "../each-sandbox.ts";

export function run(call: CommandCall, context: CommandContext): Promise<number> {
  return eachSandbox(call, context, { doing: "Waking", done: "resumed", work: (sandbox) => sandbox.resume() });
}
