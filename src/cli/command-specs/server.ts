import type { CommandSpec, OptionSpec } from "../command.ts";
import { ENV, JSON_OPTION, NETWORK, NONE, ONE, SECRET_USE } from "./shared-options.ts";

const WHERE = `The servers are those of the Belljar that BELLJAR_URL names; without it those that were added to this home,
which every \`belljar serve\` of it runs.`;
const OWNER: OptionSpec = { type: "string", value: "TOKEN", description: "Those of the tokens of this name (default: your own)" };

const LOGIN: Readonly<Record<string, OptionSpec>> = {
  "mcp-config": { type: "string", value: "FILE", description: "The file of `belljar serve` that has it (default: those of the home)" },
  owner: OWNER,
};
const AT_MACHINE = "It works on the machine where Belljar runs, without BELLJAR_URL.";

const ADDING = `Without BELLJAR_URL the server is written to this home, and a running \`belljar serve\` takes it up at once. Only then
may it see folders (--mount), run on this machine (--isolation none) or name variables as \${X}. Whoever adds it there
approves it. With BELLJAR_URL it goes to that Belljar, which refuses these.
--from FILE takes servers from a file of any MCP host: that of this NAME, or all.
  belljar server add memory -- npx -y @modelcontextprotocol/server-memory
  belljar server add far --url https://mcp.example.com/mcp --header Authorization="Bearer \${TOKEN}"`;

/** `belljar server ...`: the MCP servers behind Belljar. */
export const SERVER: readonly CommandSpec[] = [
  {
    name: "server add",
    summary: "Add an MCP server, or change one",
    usage: "[NAME] [-- COMMAND ARGS...]",
    positionals: { min: 0, max: 1 },
    rest: true,
    options: {
      url: { type: "string", value: "URL", description: "Its address, in the place of a command" },
      from: { type: "string", value: "FILE", description: "A host's file with mcpServers in it" },
      env: ENV,
      header: { type: "string", multiple: true, value: "NAME=VALUE", description: "Header for its address; may be repeated" },
      network: NETWORK,
      secret: SECRET_USE,
      mount: {
        type: "string",
        value: "DIR[:ro|:rw|:copy]",
        description: "Folder of this machine that it sees at /workspace, to read by default",
      },
      template: { type: "string", value: "NAME", description: "What its sandbox starts from (default base)" },
      isolation: { type: "string", value: "KIND", description: "sandbox (default), or none: run it on this machine" },
      session: { type: "string", value: "KIND", description: "shared: one instance for all callers" },
      pin: { type: "string", value: "KIND", description: "strict: block tools whose definition changes until you approve them" },
      json: JSON_OPTION,
    },
    details: ADDING,
    load: () => import("../commands/server-add.ts"),
  },
  {
    name: "server list",
    summary: "List the MCP servers",
    usage: "",
    positionals: NONE,
    options: { owner: OWNER, json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/server-list.ts"),
  },
  {
    name: "server info",
    summary: "Show the state and the tools of one, and what has changed since it was approved",
    usage: "NAME",
    positionals: ONE,
    options: { owner: OWNER, json: JSON_OPTION },
    details: WHERE,
    load: () => import("../commands/server-info.ts"),
  },
  {
    name: "server approve",
    summary: "Approve that one runs, or what it lists now",
    usage: "NAME",
    positionals: ONE,
    options: { owner: OWNER, yes: { type: "boolean", short: "y", description: "Do not ask" } },
    details: `What is approved is shown, and asked for. ${WHERE}`,
    load: () => import("../commands/server-approve.ts"),
  },
  {
    name: "server remove",
    summary: "End and remove one",
    usage: "NAME",
    positionals: ONE,
    options: { owner: OWNER },
    details: WHERE,
    load: () => import("../commands/server-remove.ts"),
  },
  {
    name: "server login",
    summary: "Log in to one over HTTP, with a browser",
    usage: "NAME",
    positionals: ONE,
    options: {
      ...LOGIN,
      scope: { type: "string", value: "SCOPES", description: "Ask for these scopes too, with spaces between" },
      "no-browser": { type: "boolean", description: "Print the address, and start no browser" },
    },
    details: `The browser comes back to a port of this machine. Where it cannot, paste the address that it ends up at. The login is kept
in the home, in a file that only you may read, and a running \`belljar serve\` uses it at once. With BELLJAR_URL it is a server
that came over HTTP to that Belljar, which keeps the login.`,
    load: () => import("../commands/server-login.ts"),
  },
  {
    name: "server logout",
    summary: "Forget the login at one",
    usage: "NAME",
    positionals: ONE,
    options: LOGIN,
    details: AT_MACHINE,
    load: () => import("../commands/server-logout.ts"),
  },
  {
    name: "server logs",
    summary: "Show the last lines that one wrote to stderr",
    usage: "NAME",
    positionals: ONE,
    options: { json: JSON_OPTION },
    details: "BELLJAR_URL names the running Belljar.",
    load: () => import("../commands/server-logs.ts"),
  },
  {
    name: "server restart",
    summary: "End the instances of one, and list its tools anew",
    usage: "NAME",
    positionals: ONE,
    options: {},
    details: "BELLJAR_URL names the running Belljar.",
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
