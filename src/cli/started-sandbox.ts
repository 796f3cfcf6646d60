import { LOCAL } from "../sandbox/sandbox.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { CommandContext } from "./command.ts";
import type { Stack } from "./compose/open-stack.ts";
import { formatWhen, printLine } from "./print.ts";
import { withProgress } from "./progress.ts";

/** The sandbox of that id, for a command that needs it to run. One that is stopped is started again, which stderr tells. */
export async function startedSandbox({ sandboxes }: Pick<Stack, "sandboxes">, id: string, context: CommandContext): Promise<Sandbox> {
  const { stderr, signal } = context;
  const { sandbox, stopped } = await withProgress(stderr, "Starting the sandbox", sandboxes.getStarted(LOCAL, id, signal));
  if (stopped)
    printLine(stderr, `belljar: The sandbox was stopped (${stopped.reason}, ${formatWhen(stopped.at)}). It runs again, with its files.`);
  return sandbox;
}
