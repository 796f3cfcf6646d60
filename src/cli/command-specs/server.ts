import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE, ONE } from "./shared-options.ts";

const WHERE = "The servers are those that `belljar serve --mcp-config FILE` has started: BELLJAR_URL names it.";

/** `belljar server ...`: the MCP servers behind a running Belljar. */
export const SERVER: readonly CommandSpec[] = [
  {
    name: "server list",
    summary: "List the MCP servers behind a running Belljar",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/server-list.ts"),
  },
  {
    name: "server info",
    summary: "Show the state and the tools of one",
    usage: "NAME",
    positionals: ONE,
    options: { json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/server-info.ts"),
  },
  {
    name: "server logs",
    summary: "Show the last lines that one wrote to stderr",
    usage: "NAME",
    positionals: ONE,
    options: { json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/server-logs.ts"),
  },
  {
    name: "server restart",
    summary: "End the instances of one, and list its tools anew",
    usage: "NAME",
    positionals: ONE,
    options: {},
    details: WHERE,
    load: () => import("../commands/server-restart.ts"),
  },
  {
    name: "server update",
    summary: "Install the newest version of the package of one",
    usage: "NAME",
    positionals: ONE,
    options: { json: JSON_OPTION },
    details: `What npx or uvx start is installed at its first start, and stays so until it is updated. ${WHERE}`,
    load: () => import("../commands/server-update.ts"),
  },
];
