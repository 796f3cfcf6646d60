import type { CommandSpec, OptionSpec } from "../command.ts";
import { LIMIT_OPTIONS } from "../limit-options.ts";
import { COMMAND_TIMEOUT, JSON_OPTION, NETWORK, NONE, ONE, SECRET_USE } from "./shared-options.ts";

const DRAFT: OptionSpec = { type: "boolean", description: "Keep it without giving it to callers" };

/** What a version of a tool has beside its code. */
const VERSION = {
  network: NETWORK,
  secret: SECRET_USE,
  ...LIMIT_OPTIONS,
  timeout: COMMAND_TIMEOUT,
  reuse: {
    type: "string",
    value: "call|session",
    description: "session: one sandbox for all calls of a client (default call: a fresh one each time)",
  },
  calls: {
    type: "string",
    multiple: true,
    value: "TOOL",
    description: "A tool that its code calls, with its caller's rights; may be repeated",
  },
  tests: { type: "string", value: "FILE", description: "JSON file with its tests: [{arguments, expect: {text?, structured?, error?}}]" },
  draft: DRAFT,
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

const NAMED = { usage: "NAME", positionals: ONE, options: { json: JSON_OPTION } } as const;

/** `belljar tool ...`: tools that users write. */
export const TOOL: readonly CommandSpec[] = [
  {
    name: "tool add",
    summary: "Make a tool of a file, and give it to callers",
    usage: "FILE",
    positionals: ONE,
    options: {
      name: { type: "string", value: "NAME", description: "What it is called here (default: of Python its first function, else the file)" },
      ...VERSION,
    },
    details:
      "FILE is Python (.py), JavaScript (.js, .mjs), TypeScript (.ts) or a shell script (.sh). Its tools are read in a sandbox: nothing of it ever runs in the server. Tests run first, and where one fails nothing is kept.",
    load: () => import("../commands/tool-add.ts"),
  },
  {
    name: "tool update",
    summary: "Give a tool a new version, and give it to callers",
    usage: "NAME [FILE]",
    positionals: { min: 1, max: 2 },
    options: {
      ...VERSION,
      clear: {
        type: "string",
        multiple: true,
        value: "WHAT",
        description:
          "network, secrets, limits, timeout, reuse, calls, tests, requirements or sdist: the new version has none; may be repeated",
      },
      deps: { type: "boolean", description: "Install the newest packages that fit its requirements" },
    },
    details:
      "What is not given stays as in the newest version: the code without FILE, and all that the options say. If --deps finds the packages that it has, there is no new version; `tool rollback` brings the earlier packages back.",
    load: () => import("../commands/tool-update.ts"),
  },
  {
    name: "tool list",
    synonyms: ["tool ls"],
    summary: "List your tools",
    usage: "",
    positionals: NONE,
    options: { quiet: { type: "boolean", short: "q", description: "Print the names alone, one a line" }, json: JSON_OPTION },
    load: () => import("../commands/tool-list.ts"),
  },
  {
    name: "tool get",
    synonyms: ["tool info"],
    summary: "Show all about a tool, with its code",
    usage: "NAME",
    positionals: ONE,
    options: {
      version: { type: "string", value: "N", description: "Of this version (default the one that callers have)" },
      code: { type: "boolean", description: "Print the code alone" },
      json: JSON_OPTION,
    },
    load: () => import("../commands/tool-get.ts"),
  },
  {
    name: "tool call",
    summary: "Call a tool, as any caller does",
    usage: "NAME [KEY=VALUE...|JSON]",
    positionals: { min: 1, max: 1000 },
    options: { json: { type: "boolean", description: "Print the whole answer as JSON" } },
    details:
      'Each VALUE becomes what the tool\'s schema says of its KEY: a number, a truth value, JSON of a list or an object; a KEY that is given several times is a list. Or all arguments are one JSON object: `tool call add \'{"a": 1, "b": 2}\'`. NAME is any tool that a client of yours is offered; one of `--mcp-config` only where BELLJAR_URL names the server that has it. The exit code is 1 if the tool answers an error.',
    load: () => import("../commands/tool-call.ts"),
  },
  {
    name: "tool test",
    ...NAMED,
    summary: "Run the tests of a tool's newest version",
    load: () => import("../commands/tool-test.ts"),
  },
  {
    name: "tool publish",
    ...NAMED,
    summary: "Give callers the newest version of a tool, if its tests pass",
    load: () => import("../commands/tool-change.ts"),
  },
  {
    name: "tool rollback",
    summary: "Give callers an earlier version of a tool again",
    usage: "NAME VERSION",
    positionals: { min: 2, max: 2 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/tool-change.ts"),
  },
  {
    name: "tool enable",
    ...NAMED,
    summary: "Give callers a tool again that was disabled",
    load: () => import("../commands/tool-change.ts"),
  },
  { name: "tool disable", ...NAMED, summary: "Take a tool from callers, and keep it", load: () => import("../commands/tool-change.ts") },
  {
    name: "tool share",
    summary: "Give a tool to every caller of this home",
    usage: "NAME",
    positionals: ONE,
    options: { off: { type: "boolean", description: "Take it back from everybody else" }, json: JSON_OPTION },
    load: () => import("../commands/tool-change.ts"),
  },
  {
    name: "tool logs",
    ...NAMED,
    summary: "Show how often a tool was called on the server, and what went wrong last",
    load: () => import("../commands/tool-logs.ts"),
  },
  {
    name: "tool export",
    summary: "Write tools into a folder that a person can read, and keep in git",
    usage: "[NAME...]",
    positionals: { min: 0, max: 1000 },
    options: {
      output: { type: "string", short: "o", value: "DIR", description: "Folder to write them into (default belljar-tools)" },
      json: JSON_OPTION,
    },
    details:
      "Each tool gets a folder with its code and tool.json, in the version that callers have, or else the newest. Earlier versions, whether it is shared and the values of secrets are not written. `tool import DIR` and `serve --tools DIR` read the folder.",
    load: () => import("../commands/tool-export.ts"),
  },
  {
    name: "tool import",
    summary: "Add all tools of a folder, or of MCP Box's mcp-tool.json",
    usage: "DIR|FILE",
    positionals: ONE,
    options: {
      owner: {
        type: "string",
        value: "OWNER",
        description: "Whose tools they are: local (default), or token:NAME. On the home itself alone",
      },
      update: { type: "boolean", description: "Give those that are there already a new version, unless they are the same" },
      draft: DRAFT,
      json: JSON_OPTION,
    },
    details:
      "Each tool passes the life of one that is added: it is read in a sandbox, and its tests run. One that is refused is told with the reason, the others are imported, and the exit code is 1.",
    load: () => import("../commands/tool-import.ts"),
  },
  {
    name: "tool remove",
    synonyms: ["tool rm"],
    summary: "Remove tools with all their versions",
    usage: "NAME...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/tool-remove.ts"),
  },
];
