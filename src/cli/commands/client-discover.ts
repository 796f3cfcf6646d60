import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { DiscoveredServer } from "../../mcp/client/discover/discover.ts";
import { discoverServers } from "../../mcp/client/discover/discover.ts";
import type { HostPlaces } from "../../mcp/client/discover/host-files.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { printJson, printLine, printProblems, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const discovery = await discoverServers(placesOf(context));
  const { servers, problems } = discovery;
  if (isSet(call, "json")) printJson(stdout, discovery);
  else if (servers.length === 0) printLine(stderr, "No host has an MCP server.");
  else printTable(stdout, servers.map(toRow), ["HOST", "SERVER", "TRANSPORT", "TARGET", "STATE", "FILE"]);
  if (!isSet(call, "json"))
    printProblems(
      stderr,
      [...problems, ...servers].flatMap(({ problem }) => problem ?? []),
    );
  return 0;
}

function placesOf({ env }: CommandContext): HostPlaces {
  const home = homedir();
  const config = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const applications = platform() === "darwin" ? join(home, "Library/Application Support") : config;
  return { home, config, applications, codex: env["CODEX_HOME"] || join(home, ".codex"), project: process.cwd() };
}

function toRow({ host, name, transport, target, is_disabled: isDisabled, problem, file, project }: DiscoveredServer): readonly string[] {
  const state = problem === null ? (isDisabled ? "disabled" : "enabled") : "unusable";
  return [host, name, transport ?? "-", target ?? "-", state, project === null ? file : `${file} (${project})`];
}
