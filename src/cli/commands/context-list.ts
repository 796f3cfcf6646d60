import { listContexts } from "../../interpreter/lasting/contexts.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, call.positionals[0] ?? "");
  const contexts = await listContexts(sandbox, context.signal);
  if (isSet(call, "json")) printJson(context.stdout, contexts);
  else if (contexts.length === 0) printLine(context.stderr, `No contexts in ${sandbox.id}. An agent starts them with run_code.`);
  else {
    const rows = contexts.map(({ id, language, isDefault, pid }) => [
      id,
      language,
      pid === undefined ? "ended" : "running",
      isDefault ? "yes" : "",
    ]);
    printTable(context.stdout, rows, ["ID", "LANGUAGE", "STATE", "DEFAULT"]);
  }
  return 0;
}
