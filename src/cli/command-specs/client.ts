import type { CommandSpec, OptionSpec } from "../command.ts";
import { COMMAND_TIMEOUT, JSON_OPTION, NONE } from "./shared-options.ts";

/** As the exit codes of the MCP Inspector: 3 for a missing or refused token, 4 for a server that cannot be reached. */
const EXIT_CODES = { CONFIG_INVALID: 2, UNAUTHORIZED: 3, FORBIDDEN: 3, SERVER_UNREACHABLE: 4, SERVER_INCOMPATIBLE: 4 } as const;
const EXITS = "Exit codes: 0 done, 1 failed, 2 wrong usage or file, 3 no or a wrong token, 4 not reached.";

const SHARED = {
  config: {
    type: "string",
    value: "FILE",
    description:
      "File with mcpServers, as any MCP host has it (default mcp.json in the home, and what you approve of the project's .mcp.json)",
  },
  sandbox: { type: "boolean", description: "Start programs in sandboxes, as `serve --mcp-config` does" },
  timeout: { ...COMMAND_TIMEOUT, description: "Maximum time of each request: 30s, 5m" },
  wire: { type: "string", value: "FILE", description: "Append every message of the protocol to this file, as lines of JSON" },
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

const STARTS = "The servers start on this machine, with your rights, unless --sandbox is given.";
const STARTS_HERE = "The server starts on this machine, with your rights.";

/** `belljar client ...`: a client of any MCP server. */
export const CLIENT: readonly CommandSpec[] = [
  {
    name: "client list",
    synonyms: ["client ls"],
    summary: "Start MCP servers, and list their tools",
    usage: "[SERVER]",
    positionals: { min: 0, max: 1 },
    options: SHARED,
    exitCodes: EXIT_CODES,
    details: `${STARTS} With --json: resources and prompts too. A server that fails is told on stderr; the others are listed. ${EXITS}`,
    load: () => import("../commands/client-list.ts"),
  },
  {
    name: "client call",
    summary: "Call a tool of an MCP server",
    usage: "SERVER TOOL [KEY=VALUE...|JSON]",
    positionals: { min: 2, max: 1000 },
    options: SHARED,
    exitCodes: EXIT_CODES,
    details: `Each value is read as the tool's schema has it; a key that is named twice is a list. One word that begins with { is all arguments as JSON. What the tool asks is asked in the terminal. ${STARTS} ${EXITS}`,
    load: () => import("../commands/client-call.ts"),
  },
  {
    name: "client read",
    summary: "Read a resource of an MCP server",
    usage: "URI",
    positionals: { min: 1, max: 1 },
    options: { ...SHARED, server: { type: "string", value: "SERVER", description: "The server that has it" } },
    exitCodes: EXIT_CODES,
    details: `Text is printed, and of other contents their type and size; --json prints all. ${STARTS} ${EXITS}`,
    load: () => import("../commands/client-read.ts"),
  },
  {
    name: "client prompt",
    summary: "Show a prompt of an MCP server, or list its prompts",
    usage: "SERVER [PROMPT [KEY=VALUE...]]",
    positionals: { min: 1, max: 1000 },
    options: SHARED,
    exitCodes: EXIT_CODES,
    details: `${STARTS} ${EXITS}`,
    load: () => import("../commands/client-prompt.ts"),
  },
  {
    name: "client repl",
    summary: "Keep MCP servers open, and take commands line by line",
    usage: "[SERVER]",
    positionals: { min: 0, max: 1 },
    options: { config: SHARED.config, sandbox: SHARED.sandbox, timeout: SHARED.timeout, wire: SHARED.wire },
    takesLines: true,
    exitCodes: EXIT_CODES,
    details: `A line is one of list, call, read and prompt, with its arguments as after \`belljar client\`; words with spaces stand in quotes. help shows the commands, exit ends. ${STARTS}`,
    load: () => import("../commands/client-repl.ts"),
  },
  {
    name: "client chat",
    summary: "Talk with a model that uses the tools of MCP servers",
    usage: "[SERVER]",
    positionals: { min: 0, max: 1 },
    options: {
      config: SHARED.config,
      sandbox: SHARED.sandbox,
      model: { type: "string", value: "NAME", description: "The model (OPENAI_MODEL, ANTHROPIC_MODEL)" },
      api: {
        type: "string",
        value: "API",
        description: "openai, which most endpoints speak, or anthropic (default: the one whose variables are set)",
      },
      system: { type: "string", value: "FILE", description: "A text that tells the model what to do" },
      "max-steps": { type: "string", value: "N", description: "Maximum replies of the model in a turn (default 20)" },
      price: { type: "string", value: "IN/OUT", description: "Dollars for a million tokens, such as 3/15, for the line of costs" },
      yes: { type: "boolean", description: "Make calls that may change something without asking" },
      timeout: SHARED.timeout,
      wire: SHARED.wire,
    },
    exitCodes: EXIT_CODES,
    details: `The endpoint and its key are OPENAI_BASE_URL and OPENAI_API_KEY, or ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY. A call is asked for unless its tool says that it only reads or destroys nothing. Ctrl+C interrupts a turn; at the prompt it ends the chat. In a pipe each line is a message, and calls that must be asked for are refused. ${STARTS} ${EXITS}`,
    load: () => import("../commands/client-chat.ts"),
  },
  {
    name: "client login",
    summary: "Log in to an MCP server over HTTP, with a browser",
    usage: "SERVER",
    positionals: { min: 1, max: 1 },
    options: {
      config: SHARED.config,
      scope: { type: "string", value: "SCOPES", description: "Ask for these scopes too, with spaces between" },
      "no-browser": { type: "boolean", description: "Print the address, and start no browser" },
    },
    exitCodes: EXIT_CODES,
    details: `The browser comes back to a port of this machine. Where it cannot, paste the address that it ends up at. The login is kept in the home, in a file that only you may read. ${EXITS}`,
    load: () => import("../commands/client-login.ts"),
  },
  {
    name: "client logout",
    summary: "Forget the login at an MCP server",
    usage: "SERVER",
    positionals: { min: 1, max: 1 },
    options: { config: SHARED.config },
    exitCodes: EXIT_CODES,
    load: () => import("../commands/client-logout.ts"),
  },
  {
    name: "client record",
    summary: "Run an MCP server for a host, and record what both say",
    usage: "SERVER FILE",
    positionals: { min: 2, max: 2 },
    options: { config: SHARED.config },
    exitCodes: EXIT_CODES,
    details: `For programs: a host starts this command in place of the server. FILE is what --wire writes, and may hold secrets. ${STARTS_HERE}`,
    load: () => import("../commands/client-record.ts"),
  },
  {
    name: "client replay",
    summary: "Play a recording as an MCP server over stdio",
    usage: "FILE",
    positionals: { min: 1, max: 1 },
    options: { server: { type: "string", value: "SERVER", description: "Of this server, if the recording has several" } },
    exitCodes: EXIT_CODES,
    details:
      "FILE is one of `client record` or of --wire. A request is answered as the same one was; one that the recording does not have is refused. Nothing is started.",
    load: () => import("../commands/client-replay.ts"),
  },
  {
    name: "client discover",
    summary: "List the MCP servers that other hosts of yours have, and start none",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    details:
      "Reads the files of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, opencode and Zed, and those of a project in the current folder. Of variables and headers it shows the names.",
    load: () => import("../commands/client-discover.ts"),
  },
];
