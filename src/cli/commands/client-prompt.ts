import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import type { CliClient } from "../mcp-client/open-client.ts";
import { withClient } from "../mcp-client/open-client.ts";
import { firstText, renderContents } from "../mcp-client/render-content.ts";
import { printJson, printLine, printTable } from "../print.ts";
import { didYouMean } from "../../files/suggest.ts";
import { usage } from "../usage.ts";
import { parsePairs } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  return withClient(call, context, call.positionals[0], (open) => showPrompt(open, call, context));
}

/** Lists the prompts of a server that is open, or shows one. */
export async function showPrompt({ client, request }: CliClient, call: CommandCall, { stdout, stderr }: CommandContext): Promise<number> {
  const [server = "", name, ...words] = call.positionals;
  const args = parsePairs("KEY", words);
  const prompts = await client.listPrompts(server, request);
  const isJson = isSet(call, "json");
  if (name === undefined) {
    if (isJson) printJson(stdout, { prompts });
    else if (prompts.length === 0) printLine(stderr, `The server "${server}" has no prompts.`);
    else printTable(stdout, prompts.map(toRow), ["PROMPT", "ARGUMENTS", "ABOUT"]);
    return 0;
  }
  checkName(prompts, server, name);
  const result = await client.getPrompt({ server, name, arguments: args }, request);
  if (isJson) printJson(stdout, result);
  else printLine(stdout, renderMessages(result["messages"]));
  return 0;
}

function toRow(prompt: JsonObject): readonly string[] {
  const args = Array.isArray(prompt["arguments"]) ? prompt["arguments"].filter(isRecord) : [];
  const names = args.map(({ name, required }) => (required === true ? firstText(name) : `[${firstText(name)}]`));
  return [firstText(prompt["name"]), names.join(" ") || "-", firstText(prompt["description"]).split("\n")[0] ?? ""];
}

function checkName(prompts: readonly JsonObject[], server: string, name: string): void {
  const names = prompts.map((prompt) => firstText(prompt["name"]));
  if (names.includes(name)) return;
  throw usage(`The server "${server}" has no prompt "${name}"${didYouMean(name, names)}`, `belljar client prompt ${server}`);
}

function renderMessages(messages: unknown): string {
  const all = Array.isArray(messages) ? messages.filter(isRecord) : [];
  return all.map(({ role, content }) => `${firstText(role)}: ${renderContents(content)}`).join("\n");
}
