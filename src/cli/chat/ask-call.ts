import { printable } from "../../files/printable.ts";
import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import type { McpTool } from "../../mcp/client/mcp-client.ts";
import type { CommandContext } from "../command.ts";
import { askYesNo, withLines } from "../mcp-client/read-lines.ts";
import { printLine, printProblems } from "../print.ts";

/** Nobody can agree to what is not shown. */
const SHOWN_MAX = 20_000;

/** Asks the person at the terminal, who is shown all arguments. Without a terminal, and for arguments that are too long to show, it is a no. */
export async function askCall(context: CommandContext, tool: McpTool, args: JsonObject, signal: AbortSignal): Promise<boolean> {
  const { stdin, stderr } = context;
  const about = `The tool ${toName(tool.tool)} of ${toName(tool.server)}`;
  const shown = JSON.stringify(args, null, 2);
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    printProblems(stderr, [`${about} may change something, and nobody can be asked: --yes allows it`]);
    return false;
  }
  if (shown.length > SHOWN_MAX) {
    printProblems(stderr, [`${about} was to be called with more than can be shown, so it was not: --yes allows it`]);
    return false;
  }
  printLine(stderr, `${about} ${warning(tool)}. Its arguments are:\n${shown}`);
  return withLines(context, signal, async (ask) => (await askYesNo(ask, "Call it?")) === "y");
}

/** A server says its names, which must forge no line of the question. */
function toName(text: string): string {
  return printable(JSON.stringify(text));
}

function warning({ definition: { annotations } }: McpTool): string {
  const says = isRecord(annotations) && annotations["destructiveHint"] === true;
  return says ? "says that it can destroy something" : "may change something";
}
