import type { CommandSpec, OptionSpec } from "../command.ts";
import { EXPIRES } from "../expiry-option.ts";
import { AUTO_CHECKPOINT, LIFETIME, LIMIT_OPTIONS, ON_DEADLINE, PAUSE_IDLE } from "../limit-options.ts";
import { ENV, JSON_OPTION, NETWORK, NONE, ONE, WORKSPACE, SECRET_USE } from "./shared-options.ts";

const CREATE_OPTIONS = {
  name: { type: "string", value: "NAME", description: "A name, which every command takes in place of the ID" },
  workspace: WORKSPACE,
  runtime: { type: "string", value: "NAME", description: "Runtime that creates the sandbox (default: the configured one)" },
  template: { type: "string", value: "NAME", description: "Template that the sandbox starts from (default base)" },
  ...LIMIT_OPTIONS,
  "best-effort": { type: "boolean", description: "Do not fail if a limit cannot be enforced here" },
  "no-root": { type: "boolean", description: "Let no command in it run as root, by --user or by sudo" },
  "auto-checkpoint": AUTO_CHECKPOINT,
  "nested-filters": { type: "boolean", description: "Let its programs install seccomp filters of their own, as browsers do" },
  timeout: LIFETIME,
  "on-deadline": ON_DEADLINE,
  "pause-idle": PAUSE_IDLE,
  network: NETWORK,
  secret: SECRET_USE,
  env: ENV,
  metadata: { type: "string", multiple: true, short: "m", value: "KEY=VALUE", description: "A label; may be repeated" },
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

const NETWORK_RULES = `A rule is host[:port]: an exact name, *.example.com for all names below it, or an address.
Without a port it is for 80 and 443. A rule may begin with methods and a scheme and end with a path:
  api.example.com   *.example.com:8443   "GET+HEAD https://api.example.com/v1"
npm, pypi, debian and github are sets of rules: belljar network sets.`;

const WORKSPACE_PATHS = `Paths are as the diff shows them: files, folders, or patterns such as '*.ts' and 'src/**'.
What git, editors, package managers or CI would run by themselves is left out unless its path is named.`;

const DIFF_DETAILS = `${WORKSPACE_PATHS}
On a terminal it is shown in colours (unless NO_COLOR is set), through PAGER, and side by side from 160 columns on.`;

const APPLY_DETAILS = `${WORKSPACE_PATHS}
What the folder has changed meanwhile is merged. What cannot be merged is a conflict: it is shown and left alone, and the exit code is 1.`;

const OF_SEVERAL: OptionSpec = { type: "string", value: "ID", description: "One of several sandboxes that have a copy of this folder" };
const IGNORED: OptionSpec = { type: "boolean", description: "Include files that git ignores" };
const UNIFIED: OptionSpec = { type: "boolean", short: "u", description: "Not side by side, however wide the terminal is" };
const DIFF_OPTIONS = {
  "name-only": { type: "boolean", description: "Print the paths that apply would write" },
  stat: { type: "boolean", description: "Count the lines that each path has more and less" },
  patch: { type: "boolean", short: "p", description: "Print a patch for `git apply`" },
  unified: UNIFIED,
  ignored: IGNORED,
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;
const APPLY_OPTIONS = {
  patch: { type: "boolean", short: "p", description: "Choose what is written, file by file and part by part, on a terminal" },
  yes: { type: "boolean", short: "y", description: "Do not ask" },
  theirs: { type: "boolean", description: "Write the sandbox's side of conflicts" },
  ours: { type: "boolean", description: "Keep the folder's side of conflicts" },
  undo: { type: "boolean", description: "Undo the last apply to the folder, if nobody changed since what it wrote" },
  unified: UNIFIED,
  ignored: IGNORED,
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

/** `belljar sandbox ...`, and what is about the sandbox of a folder. */
export const SANDBOX: readonly CommandSpec[] = [
  {
    name: "sandbox create",
    summary: "Create a sandbox and print its id",
    usage: "",
    positionals: NONE,
    options: CREATE_OPTIONS,
    load: () => import("../commands/sandbox-create.ts"),
  },
  {
    name: "sandbox list",
    synonyms: ["sandbox ls", "sandbox ps"],
    summary: "List sandboxes",
    usage: "",
    positionals: NONE,
    options: {
      all: { type: "boolean", short: "a", description: "List ended sandboxes too" },
      quiet: { type: "boolean", short: "q", description: "Print the ids alone, one a line" },
      state: {
        type: "string",
        multiple: true,
        value: "STATE",
        description: "running, paused, unresponsive, stopped or ended; may be repeated",
      },
      metadata: {
        type: "string",
        multiple: true,
        short: "m",
        value: "KEY=VALUE",
        description: "List only sandboxes with this label; may be repeated",
      },
      json: JSON_OPTION,
    },
    load: () => import("../commands/sandbox-list.ts"),
  },
  {
    name: "sandbox events",
    summary: "Print each change of the sandboxes until stopped",
    usage: "",
    positionals: NONE,
    options: { json: { type: "boolean", description: "Print one JSON object a line" } },
    details: `A line is an event: created, changed or ended, with the sandbox's id, and for ended with the reason.
The first line is resync. It comes again if events were lost: list the sandboxes then.`,
    load: () => import("../commands/sandbox-events.ts"),
  },
  {
    name: "sandbox info",
    synonyms: ["sandbox inspect"],
    summary: "Show all about a sandbox",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-info.ts"),
  },
  {
    name: "sandbox stats",
    synonyms: ["sandbox top"],
    summary: "Show what sandboxes use of CPU, memory, processes and disk, on a terminal until Ctrl+C",
    usage: "[ID...]",
    positionals: { min: 0, max: 1000 },
    options: { "no-stream": { type: "boolean", description: "Show it once" }, json: { type: "boolean", description: "Print JSON, once" } },
    details: "CPU is an average of the last second; 100 % is one core.",
    load: () => import("../commands/sandbox-stats.ts"),
  },
  {
    name: "sandbox logs",
    summary: "Print the output of a sandbox's background processes",
    usage: "ID [PROCESS]",
    positionals: { min: 1, max: 2 },
    options: {
      follow: { type: "boolean", short: "f", description: "Go on until the processes have ended" },
      tail: { type: "string", short: "n", value: "N", description: "Begin with the last N lines of each (default all)" },
    },
    details: `These are the processes that agents start with \`run_command\` and \`background\`. The last 8 MiB of each are kept.
The output of one is printed as it is; of several, each line stands behind its process, without control characters.`,
    load: () => import("../commands/sandbox-logs.ts"),
  },
  {
    name: "sandbox network",
    summary: "Show or change a sandbox's network policy. Changes apply to open connections too",
    usage: "ID [none|all|RULE,...]",
    positionals: { min: 1, max: 2 },
    options: {
      allow: { type: "string", multiple: true, value: "RULE,...", description: "Add rules; may be repeated" },
      deny: { type: "string", multiple: true, value: "RULE,...", description: "Remove rules; may be repeated" },
      json: JSON_OPTION,
    },
    details: NETWORK_RULES,
    load: () => import("../commands/sandbox-network.ts"),
  },
  {
    name: "sandbox kill",
    synonyms: ["sandbox rm"],
    summary: "End sandboxes",
    usage: "ID...",
    positionals: { min: 0, max: 1000 },
    options: { all: { type: "boolean", short: "a", description: "End all sandboxes, stopped ones too" }, json: JSON_OPTION },
    load: () => import("../commands/sandbox-kill.ts"),
  },
  {
    name: "sandbox pause",
    summary: "Freeze sandboxes until the next call, or request to one of their ports",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-pause.ts"),
  },
  {
    name: "sandbox resume",
    summary: "Wake paused sandboxes, as every call does",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-resume.ts"),
  },
  {
    name: "sandbox stop",
    summary: "End their processes and keep their files, until they are started again",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-stop.ts"),
  },
  {
    name: "sandbox start",
    summary: "Start stopped sandboxes, with their files, network and links",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-start.ts"),
  },
  {
    name: "sandbox extend",
    summary: "Move a sandbox's deadline to a time from now",
    usage: "ID TIME",
    positionals: { min: 2, max: 2 },
    options: { "on-deadline": ON_DEADLINE, json: JSON_OPTION },
    details: "TIME has a unit: 90s, 30m, 4h, 2d. A time that is shorter than what is left moves the deadline nearer.",
    load: () => import("../commands/sandbox-extend.ts"),
  },
  {
    name: "sandbox diff",
    summary: "Show what a sandbox changed in its workspace",
    usage: "ID [PATH...]",
    positionals: { min: 1, max: 1000 },
    options: DIFF_OPTIONS,
    details: DIFF_DETAILS,
    load: () => import("../commands/sandbox-diff.ts"),
  },
  {
    name: "sandbox apply",
    summary: "Show a sandbox's changes, ask, and write them back to the workspace",
    usage: "ID [PATH...]",
    positionals: { min: 1, max: 1000 },
    options: APPLY_OPTIONS,
    details: APPLY_DETAILS,
    load: () => import("../commands/sandbox-apply.ts"),
  },
  {
    name: "diff",
    summary: "Show what the sandbox of this folder changed in its copy",
    usage: "[PATH...]",
    positionals: { min: 0, max: 1000 },
    options: { sandbox: OF_SEVERAL, ...DIFF_OPTIONS },
    details: DIFF_DETAILS,
    load: () => import("../commands/sandbox-diff.ts"),
  },
  {
    name: "apply",
    summary: "Show the changes of the sandbox of this folder, ask, and write them here",
    usage: "[PATH...]",
    positionals: { min: 0, max: 1000 },
    options: { sandbox: OF_SEVERAL, ...APPLY_OPTIONS },
    details: APPLY_DETAILS,
    load: () => import("../commands/sandbox-apply.ts"),
  },
  {
    name: "sandbox ports",
    summary: "Show the listening ports of a sandbox, and the links to them",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/sandbox-ports.ts"),
  },
  {
    name: "sandbox port",
    summary: "Create a link to a port of a sandbox, for a browser or a program",
    usage: "ID PORT",
    positionals: { min: 2, max: 2 },
    options: {
      public: { type: "boolean", description: "Create a link without a token, for everybody who can reach the server" },
      expires: EXPIRES,
      remove: { type: "boolean", description: "Remove the link" },
      json: JSON_OPTION,
    },
    details:
      "Prints two addresses of the same link: by host name, for browsers and curl, and by path, where such names do not resolve. " +
      "Everybody who has an address can use the link. `belljar serve` serves it.",
    load: () => import("../commands/sandbox-port.ts"),
  },
  {
    name: "sandbox forward",
    summary: "Forward a port of this machine to a port of a sandbox, until Ctrl+C",
    usage: "ID PORT[:LOCAL]",
    positionals: { min: 2, max: 2 },
    options: {},
    details: "Every program of this machine can connect to it. Without LOCAL the port has the same number; 0 chooses a free one.",
    load: () => import("../commands/sandbox-forward.ts"),
  },
];
