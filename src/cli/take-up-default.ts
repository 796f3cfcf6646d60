import type { Caller } from "../catalog/caller.ts";
import type { CommandContext } from "./command.ts";
import type { ServedTools } from "./compose/open-tools.ts";
import { printLine } from "./print.ts";

/** Applies the command line to a default sandbox that lives, and says on stderr what of it cannot be applied. Never rejects. */
export async function takeUpDefault(tools: Pick<ServedTools, "takeUp">, caller: Caller, { stderr }: CommandContext): Promise<void> {
  const problems = await tools.takeUp(caller).catch((cause: unknown) => [cause instanceof Error ? cause.message : String(cause)]);
  for (const problem of problems) printLine(stderr, `belljar: ${problem}`);
}
