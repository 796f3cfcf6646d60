import type { McpServerUpdateAnswer } from "../../remote/remote-servers.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { confirm } from "../confirm.ts";
import { plural, printJson, printLine, printProblems } from "../print.ts";
import { printChanges } from "../print-server.ts";
import { withProgress } from "../progress.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdin, stdout, stderr } = context;
  const name = call.positionals[0] ?? "";
  const servers = await openMcpServers(call, context);
  const looked = await withProgress(stderr, "Installing the newest version", servers.update(name, { look: true }));
  const { before, now, digest } = looked;
  const tell = (text: string, update: McpServerUpdateAnswer): void =>
    isSet(call, "json") ? printJson(stdout, { before: update.before, now: update.now }) : printLine(stdout, text);
  if (digest === undefined) return (tell(`${name} has the newest version, ${now}`, looked), 0);
  show(name, looked, context);
  if (!isSet(call, "yes")) {
    if (!stdin.isTTY)
      throw usage("Nothing is taken, for nobody can be asked here: look at it, and say --yes", "belljar server update --help");
    if (!(await confirm(context, `Take ${now} of ${name} as it is shown?`))) return 1;
  }
  // What was shown is taken, and nothing that came since.
  await servers.update(name, { digest });
  tell(`${name}: ${before ?? "not installed"} -> ${now}`, looked);
  return 0;
}

function show(name: string, { before, now, changes = [], changed = 0, problem }: McpServerUpdateAnswer, { stderr }: CommandContext): void {
  printLine(stderr, `${name}: ${before ?? "not installed"} -> ${now}${before === now ? ", with other packages beside it" : ""}`);
  if (problem !== undefined) {
    printProblems(stderr, [problem]);
    printLine(stderr, "So what it lists cannot be shown. It was started without network.");
  } else if (changed === 0) printLine(stderr, "It lists what was approved.");
  else printLine(stderr, `${plural(changed, "definition")} of it are not as they were approved:`);
  printChanges(stderr, changes, changed);
}
