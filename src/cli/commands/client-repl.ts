import { BelljarError } from "../../errors.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import type { CliClient } from "../mcp-client/open-client.ts";
import { openClient } from "../mcp-client/open-client.ts";
import { readMessages } from "../mcp-client/read-messages.ts";
import { splitWords } from "../mcp-client/split-words.ts";
import { printLine } from "../print.ts";
import { callTool } from "./client-call.ts";
import { list } from "./client-list.ts";
import { showPrompt } from "./client-prompt.ts";
import { read } from "./client-read.ts";

type Action = (open: CliClient, call: CommandCall, context: CommandContext) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  "client list": list,
  "client call": callTool,
  "client read": read,
  "client prompt": showPrompt,
};
const HELP = "list [SERVER], call SERVER TOOL [KEY=VALUE...|JSON], read URI [--server SERVER], prompt SERVER [PROMPT [KEY=VALUE...]], exit";

/** The exit code is that of the last line, so that a script that is piped in can fail. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using open = await openClient(call, context, call.positionals[0]);
  let code = 0;
  for await (const line of readMessages(context, "mcp> ")) {
    const word = line.trim();
    if (word === "exit" || word === "quit") break;
    if (word === "help") printLine(context.stderr, HELP);
    else if (word !== "") code = await runLine(open, () => call.parse?.(["client", ...splitWords(line)]), context);
  }
  return code;
}

async function runLine(open: CliClient, parse: () => CommandCall | undefined, context: CommandContext): Promise<number> {
  try {
    const line = parse();
    const action = line && ACTIONS[line.spec.name];
    if (line && action) return await open.during(() => action(open, line, context));
    throw new BelljarError("USAGE", `Here the commands are ${HELP}`);
  } catch (error) {
    if (!(error instanceof BelljarError) || context.signal.aborted) throw error;
    printLine(context.stderr, `belljar: ${error.message} (${error.code})`);
    return error.code === "USAGE" ? 2 : 1;
  }
}
