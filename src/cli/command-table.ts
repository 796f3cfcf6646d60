import type { CommandSpec, OptionSpec } from "./command.ts";

/** Understood by every command. */
export const GLOBAL_OPTIONS = {
  help: { type: "boolean", short: "h", description: "Show this help" },
  home: { type: "string", value: "DIR", description: "Folder with all state (BELLJAR_HOME, ~/.belljar)" },
  config: { type: "string", value: "FILE", description: "Configuration file (default config.json in the home)" },
  "token-file": { type: "string", value: "FILE", description: "File with the token for the server of BELLJAR_URL" },
  debug: { type: "boolean", description: "Show the stack of an error" },
} as const satisfies Record<string, OptionSpec>;

const JSON_OPTION: OptionSpec = { type: "boolean", description: "Print JSON" };
const WORKSPACE: OptionSpec = {
  type: "string",
  value: "DIR[:copy|:ro|:rw]",
  description: "Host folder that the sandbox sees at /home/user",
};
const NETWORK: OptionSpec = {
  type: "string",
  value: "POLICY",
  description: "What it may reach: none (default), all, or rules as npm,github,api.example.com[:port]",
};
const SNIPPETS: OptionSpec = { type: "string", value: "DIR", description: "Folder with the snippets that execute_code can name" };
const TOOLSETS: OptionSpec = {
  type: "string",
  value: "NAMES",
  description: "Serve these toolsets: files,shell,search,code ...; all also lists every tool",
};
const READ_ONLY: OptionSpec = { type: "boolean", description: "Serve only tools that read" };
const ENV: OptionSpec = {
  type: "string",
  multiple: true,
  short: "e",
  value: "NAME[=VALUE]",
  description: "Environment variable; may be repeated",
};
const COMMAND_TIMEOUT: OptionSpec = { type: "string", value: "TIME", description: "Stop it after so long: 500ms, 30s, 5m, 1h" };
const USER: OptionSpec = { type: "string", value: "NAME", description: "user (default) or root" };
const CWD: OptionSpec = { type: "string", value: "DIR", description: "Where it starts (default /home/user)" };

const CREATE_OPTIONS = {
  workspace: WORKSPACE,
  template: { type: "string", value: "NAME", description: "What it starts from (default base)" },
  memory: { type: "string", value: "SIZE", description: "Memory limit: 512m, 2g" },
  cpus: { type: "string", value: "N", description: "Cores, may be a fraction" },
  pids: { type: "string", value: "N", description: "Most processes and threads" },
  disk: { type: "string", value: "SIZE", description: "What it may write" },
  "open-files": { type: "string", value: "N", description: "Most open files of a process" },
  "best-effort": { type: "boolean", description: "Go on when a named limit cannot be enforced here" },
  timeout: { type: "string", value: "TIME", description: "How long it lives without being extended: 90s, 1h" },
  network: NETWORK,
  secret: {
    type: "string",
    multiple: true,
    value: "VARIABLE=NAME@HOST[+HOST...]",
    description: "Variable that stands for a secret, which goes to these hosts alone; may be repeated",
  },
  env: ENV,
  metadata: { type: "string", multiple: true, short: "m", value: "KEY=VALUE", description: "A label; may be repeated" },
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

/** Held by `src/gateway/auth/scopes.test.ts`: help loads none of the gateway. */
export const SCOPES = `Scopes (a token without any may do all that the configuration allows):
  toolset:NAME              tools of this toolset
  read-only                 only tools that change nothing
  workspaces                sandboxes that see folders of the host
  network:none|all|RULE     the widest network of its sandboxes
  max-memory:SIZE           the most memory of one sandbox
  max-disk:SIZE             the most disk of one sandbox
  max-cpus:N                the most cores of one sandbox
  max-pids:N                the most processes of one sandbox
  sandboxes:N               sandboxes that live at once
  memory:SIZE               memory of all its live sandboxes
  cpu-seconds:N             CPU time that its live sandboxes have used
  calls-per-minute:N        tool calls in a minute
  output-per-minute:SIZE    results in a minute`;

const NETWORK_RULES = `A rule is host[:port]: an exact name, *.example.com for all names below it, or an address.
Without a port it is for 80 and 443. A rule may begin with methods and a scheme and end with a path:
  api.example.com   *.example.com:8443   "GET+HEAD https://api.example.com/v1"
npm, pypi, debian and github are sets of rules: belljar network sets.`;

const none = { min: 0, max: 0 };
const one = { min: 1, max: 1 };

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "serve",
    summary: "Serve MCP over HTTP at /mcp",
    usage: "",
    positionals: none,
    options: {
      host: { type: "string", value: "HOST", description: "Address to listen on (default 127.0.0.1)" },
      port: { type: "string", short: "p", value: "N", description: "Port to listen on (default 6060; 0 takes a free one)" },
      workspace: WORKSPACE,
      network: NETWORK,
      snippets: SNIPPETS,
      toolsets: TOOLSETS,
      "read-only": READ_ONLY,
      "legacy-sse": { type: "boolean", description: "Serve old clients at /sse too (HTTP+SSE, which MCP has replaced)" },
    },
    load: () => import("./commands/serve.ts"),
  },
  {
    name: "mcp",
    summary: "Serve MCP over stdio, for a host to start",
    usage: "",
    positionals: none,
    options: {
      workspace: WORKSPACE,
      network: NETWORK,
      sandbox: { type: "string", value: "NAME", description: "Name of the default sandbox (default: made from the start folder)" },
      gateway: { type: "string", value: "URL", description: "Carry MCP to that server instead (BELLJAR_URL)" },
      snippets: SNIPPETS,
      toolsets: TOOLSETS,
      "read-only": READ_ONLY,
    },
    load: () => import("./commands/mcp.ts"),
  },
  {
    name: "run",
    summary: "Run one program in a fresh sandbox",
    usage: "FILE|- [-- ARGS...]",
    positionals: one,
    rest: true,
    options: {
      lang: {
        type: "string",
        short: "l",
        value: "LANGUAGE",
        description: "python, javascript, typescript, bash, go, c, c++ ... (default: by the file's name)",
      },
      workspace: WORKSPACE,
      network: NETWORK,
      env: ENV,
      timeout: COMMAND_TIMEOUT,
      json: JSON_OPTION,
    },
    details: "Its exit code is the program's own, 128 + N when signal N ended it, 125 when it could not be run or ran too long.",
    failureCode: 125,
    load: () => import("./commands/run.ts"),
  },
  {
    name: "exec",
    summary: "Run a command in a live sandbox",
    usage: "ID -- ARGV...",
    positionals: one,
    rest: true,
    options: { cwd: CWD, env: ENV, user: USER, timeout: COMMAND_TIMEOUT },
    details: "Its exit code is the command's own, 128 + N when signal N ended it, 125 when it could not be run or ran too long.",
    failureCode: 125,
    ownSignals: true,
    load: () => import("./commands/exec.ts"),
  },
  {
    name: "shell",
    summary: "Open a terminal in a sandbox; without ID in a fresh one that ends with it",
    usage: "[ID]",
    positionals: { min: 0, max: 1 },
    options: { workspace: WORKSPACE, network: NETWORK, user: USER },
    failureCode: 125,
    load: () => import("./commands/shell.ts"),
  },
  {
    name: "sandbox create",
    summary: "Make a sandbox and print its id",
    usage: "",
    positionals: none,
    options: CREATE_OPTIONS,
    load: () => import("./commands/sandbox-create.ts"),
  },
  {
    name: "sandbox list",
    summary: "List sandboxes",
    usage: "",
    positionals: none,
    options: {
      all: { type: "boolean", short: "a", description: "Also those that have ended" },
      state: { type: "string", multiple: true, value: "STATE", description: "running, paused or ended; may be repeated" },
      metadata: {
        type: "string",
        multiple: true,
        short: "m",
        value: "KEY=VALUE",
        description: "Only those with this label; may be repeated",
      },
      json: JSON_OPTION,
    },
    load: () => import("./commands/sandbox-list.ts"),
  },
  {
    name: "sandbox info",
    summary: "Show all about a sandbox",
    usage: "ID",
    positionals: one,
    options: { json: JSON_OPTION },
    load: () => import("./commands/sandbox-info.ts"),
  },
  {
    name: "sandbox network",
    summary: "Show or change what a sandbox may reach, also for connections that live",
    usage: "ID [none|all|RULE,...]",
    positionals: { min: 1, max: 2 },
    options: {
      allow: { type: "string", multiple: true, value: "RULE,...", description: "Add rules; may be repeated" },
      deny: { type: "string", multiple: true, value: "RULE,...", description: "Take rules away; may be repeated" },
      json: JSON_OPTION,
    },
    details: NETWORK_RULES,
    load: () => import("./commands/sandbox-network.ts"),
  },
  {
    name: "sandbox kill",
    summary: "End sandboxes",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("./commands/sandbox-kill.ts"),
  },
  {
    name: "sandbox diff",
    summary: "Show what a sandbox changed in its workspace",
    usage: "ID",
    positionals: one,
    options: { json: JSON_OPTION },
    load: () => import("./commands/sandbox-diff.ts"),
  },
  {
    name: "sandbox apply",
    summary: "Show a sandbox's changes, ask, and write them back to the workspace",
    usage: "ID",
    positionals: one,
    options: { yes: { type: "boolean", short: "y", description: "Do not ask" }, json: JSON_OPTION },
    load: () => import("./commands/sandbox-apply.ts"),
  },
  {
    name: "sandbox ports",
    summary: "Show what listens in a sandbox, and the links to it",
    usage: "ID",
    positionals: one,
    options: { json: JSON_OPTION },
    load: () => import("./commands/sandbox-ports.ts"),
  },
  {
    name: "sandbox port",
    summary: "Make a link to a port of a sandbox, for a browser or a program",
    usage: "ID PORT",
    positionals: { min: 2, max: 2 },
    options: {
      public: { type: "boolean", description: "Without a token: for all who reach the server" },
      json: JSON_OPTION,
    },
    details:
      "Prints two addresses of the same link: by host name, for browsers and curl, and by path, where such names do not resolve. " +
      "Who has an address has the link. They are served by `belljar serve`.",
    load: () => import("./commands/sandbox-port.ts"),
  },
  {
    name: "sandbox forward",
    summary: "Make a port of a sandbox a port of this machine, until Ctrl+C",
    usage: "ID PORT[:LOCAL]",
    positionals: { min: 2, max: 2 },
    options: {},
    details: "Every program of this machine can connect to it. Without LOCAL it has the same number; 0 takes a free one.",
    load: () => import("./commands/sandbox-forward.ts"),
  },
  {
    name: "network sets",
    summary: "Show the named sets of rules, and why each rule is in them",
    usage: "[NAME]",
    positionals: { min: 0, max: 1 },
    options: { json: JSON_OPTION },
    load: () => import("./commands/network-sets.ts"),
  },
  {
    name: "cp",
    summary: "Copy files into or out of a sandbox",
    usage: "SRC ID:DST | ID:SRC DST",
    positionals: { min: 2, max: 2 },
    options: {},
    load: () => import("./commands/cp.ts"),
  },
  {
    name: "connect",
    summary: "Tell a host of this workspace: claude, claude-desktop, cursor, vscode or codex",
    usage: "HOST",
    positionals: one,
    options: {
      workspace: WORKSPACE,
      gateway: { type: "string", value: "URL", description: "Connect it to that server instead (BELLJAR_URL)" },
      name: { type: "string", value: "NAME", description: "What the host calls the server (default belljar)" },
      print: { type: "boolean", description: "Print what belongs into the host's file, and change nothing" },
    },
    load: () => import("./commands/connect.ts"),
  },
  {
    name: "audit verify",
    summary: "Check that no line of the audit was changed",
    usage: "",
    positionals: none,
    options: { json: JSON_OPTION },
    load: () => import("./commands/audit-verify.ts"),
  },
  {
    name: "audit tail",
    summary: "Show the last calls and connections",
    usage: "",
    positionals: none,
    options: {
      lines: { type: "string", short: "n", value: "N", description: "How many (default 20)" },
      follow: { type: "boolean", short: "f", description: "Go on with new ones" },
      json: { type: "boolean", description: "Print the lines as they are stored" },
    },
    load: () => import("./commands/audit-tail.ts"),
  },
  {
    name: "token create",
    summary: "Make a token for `serve`; NAME owns what its holder makes",
    usage: "NAME",
    positionals: one,
    options: {
      scope: { type: "string", multiple: true, value: "SCOPE", description: "Narrow it; may be repeated (see below)" },
      json: JSON_OPTION,
    },
    details: SCOPES,
    load: () => import("./commands/token-create.ts"),
  },
  {
    name: "token list",
    summary: "List the tokens",
    usage: "",
    positionals: none,
    options: { json: JSON_OPTION },
    load: () => import("./commands/token-list.ts"),
  },
  {
    name: "token revoke",
    summary: "Take tokens back, at once",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: {},
    load: () => import("./commands/token-revoke.ts"),
  },
  {
    name: "secret set",
    summary: "Store a secret that sandboxes can use and never read",
    usage: "NAME",
    // More are refused by the command itself, which does not show what may be a value.
    positionals: { min: 1, max: 1000 },
    options: {},
    details: "The value comes from stdin, or from a prompt that does not show it; never from the command line.",
    load: () => import("./commands/secret-set.ts"),
  },
  {
    name: "secret list",
    summary: "List secrets, without their values",
    usage: "",
    positionals: none,
    options: { json: JSON_OPTION },
    load: () => import("./commands/secret-list.ts"),
  },
  {
    name: "secret remove",
    summary: "Forget secrets",
    usage: "NAME...",
    positionals: { min: 1, max: 1000 },
    options: {},
    load: () => import("./commands/secret-remove.ts"),
  },
  {
    name: "doctor",
    summary: "Show what is enforced on this machine, and how to get the rest",
    usage: "",
    positionals: none,
    options: { json: JSON_OPTION },
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "version",
    summary: "Print the version",
    usage: "",
    positionals: none,
    options: { json: JSON_OPTION },
    load: () => import("./commands/version.ts"),
  },
];
