import { BelljarError } from "../errors.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { isSet } from "./command.ts";
import { printJson, printLine } from "./print.ts";
import { reportFailure } from "./report-failure.ts";

/** Removes all that are named. One that cannot be removed holds none of the others up: it is told, and the exit code is 1. */
export async function removeEach(
  call: CommandCall,
  { stdout, stderr, signal }: CommandContext,
  remove: (name: string) => Promise<void>,
): Promise<number> {
  const removed: string[] = [];
  let code = 0;
  for (const name of call.positionals) {
    try {
      await remove(name);
      removed.push(name);
      if (!isSet(call, "json")) printLine(stdout, name);
    } catch (error) {
      if (!(error instanceof BelljarError) || signal.aborted) throw error;
      code = reportFailure(error, { stderr, debug: isSet(call, "debug"), failureCode: 1 });
    }
  }
  if (isSet(call, "json")) printJson(stdout, { removed });
  return code;
}
