import type { CommandSpec, OptionSpec } from "../command.ts";
import { ENV, JSON_OPTION, NETWORK, NONE, ONE, WORKSPACE } from "./shared-options.ts";

const CREATE_OPTIONS = {
  workspace: WORKSPACE,
  template: { type: "string", value: "NAME", description: "What it starts from (default base)" },
  memory: { type: "string", value: "SIZE", description: "Memory limit: 512m, 2g" },
  cpus: { type: "string", value: "N", description: "Cores, may be a fraction" },
  pids: { type: "string", value: "N", description: "Most processes and threads" },
  disk: { type: "string", value: "SIZE", description: "What it may write" },
  "open-files": { type: "string", value: "N", description: "Most open files of a process" },
  "best-effort": { type: "boolean", description: "Go on when a named limit cannot be enforced here" },
  "nested-filters": { type: "boolean", description: "Let its programs filter their own system calls, as browsers do" },
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

const NETWORK_RULES = `A rule is host[:port]: an exact name, *.example.com for all names below it, or an address.
Without a port it is for 80 and 443. A rule may begin with methods and a scheme and end with a path:
  api.example.com   *.example.com:8443   "GET+HEAD https://api.example.com/v1"
npm, pypi, debian and github are sets of rules: belljar network sets.`;

/** `belljar sandbox ...` */
export const SANDBOX: readonly CommandSpec[] = [
  {
    name: "sandbox create",
    summary: "Make a sandbox and print its id",
    usage: "",
    positionals: NONE,
    options: CREATE_OPTIONS,
    load: () => import("../commands/sandbox-create.ts"),
  },
  {
    name: "sandbox list",
    summary: "List sandboxes",
    usage: "",
    positionals: NONE,
    options: {
      all: { type: "boolean", short: "a", description: "Also those that have ended" },
      state: { type: "string", multiple: true, value: "STATE", description: "running, paused, unresponsive or ended; may be repeated" },
      metadata: {
        type: "string",
        multiple: true,
        short: "m",
        value: "KEY=VALUE",
        description: "Only those with this label; may be repeated",
      },
      json: JSON_OPTION,
    },
    load: () => import("../commands/sandbox-list.ts"),
  },
  {
    name: "sandbox info",
    summary: "Show all about a sandbox",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-info.ts"),
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
    load: () => import("../commands/sandbox-network.ts"),
  },
  {
    name: "sandbox kill",
    summary: "End sandboxes",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-kill.ts"),
  },
  {
    name: "sandbox diff",
    summary: "Show what a sandbox changed in its workspace",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-diff.ts"),
  },
  {
    name: "sandbox apply",
    summary: "Show a sandbox's changes, ask, and write them back to the workspace",
    usage: "ID",
    positionals: ONE,
    options: { yes: { type: "boolean", short: "y", description: "Do not ask" }, json: JSON_OPTION },
    load: () => import("../commands/sandbox-apply.ts"),
  },
  {
    name: "sandbox ports",
    summary: "Show what listens in a sandbox, and the links to it",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-ports.ts"),
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
    load: () => import("../commands/sandbox-port.ts"),
  },
  {
    name: "sandbox forward",
    summary: "Make a port of a sandbox a port of this machine, until Ctrl+C",
    usage: "ID PORT[:LOCAL]",
    positionals: { min: 2, max: 2 },
    options: {},
    details: "Every program of this machine can connect to it. Without LOCAL it has the same number; 0 takes a free one.",
    load: () => import("../commands/sandbox-forward.ts"),
  },
];
