import type { CommandSpec, OptionSpec } from "../command.ts";
import { LIFETIME, LIMIT_OPTIONS } from "../limit-options.ts";
import { CWD, ENV, JSON_OPTION, NETWORK, NONE, ONE } from "./shared-options.ts";

const POINTS = "A point is a checkpoint of the sandbox, or a snapshot of it. `belljar log ID` shows its checkpoints.";
const PATHS = "A relative PATH starts where commands start in the sandbox.";

const FORK_OPTIONS = {
  count: { type: "string", short: "n", value: "N", description: "How many (default 1, at most 100)" },
  name: { type: "string", value: "NAME", description: "A name for the one fork, which every command takes in place of the ID" },
  ...LIMIT_OPTIONS,
  timeout: LIFETIME,
  network: NETWORK,
  env: ENV,
  metadata: { type: "string", multiple: true, short: "m", value: "KEY=VALUE", description: "A label; may be repeated" },
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

const SNAPSHOT: readonly CommandSpec[] = [
  {
    name: "snapshot create",
    summary: "Keep the files of a sandbox as they are now, and print the snapshot's id",
    usage: "ID",
    positionals: ONE,
    options: {
      name: { type: "string", value: "NAME", description: "A name. fork, snapshot info and snapshot remove take it in place of the id" },
      description: { type: "string", value: "TEXT", description: "A line for whoever reads the list" },
      whole: { type: "boolean", description: "Take in the files of the workspace's folder on the host too" },
      json: JSON_OPTION,
    },
    details:
      "It outlives the sandbox. It holds no processes, and none of the files of the host that a workspace shows: only what the sandbox wrote. With --whole it holds those files too, as the sandbox can read them. Its forks then show no folder of the host.",
    load: () => import("../commands/snapshot-create.ts"),
  },
  {
    name: "snapshot list",
    synonyms: ["snapshot ls"],
    summary: "List snapshots",
    usage: "",
    positionals: NONE,
    options: {
      sandbox: { type: "string", value: "ID", description: "List only snapshots of this sandbox" },
      quiet: { type: "boolean", short: "q", description: "Print the ids alone, one a line" },
      json: JSON_OPTION,
    },
    load: () => import("../commands/snapshot-list.ts"),
  },
  {
    name: "snapshot info",
    synonyms: ["snapshot inspect"],
    summary: "Show all about a snapshot",
    usage: "SNAPSHOT",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/snapshot-info.ts"),
  },
  {
    name: "snapshot remove",
    synonyms: ["snapshot rm"],
    summary: "Remove snapshots. Sandboxes that were made from them keep their files",
    usage: "SNAPSHOT...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/snapshot-remove.ts"),
  },
];

const TIME_LINE: readonly CommandSpec[] = [
  {
    name: "checkpoint",
    summary: "Remember the files of a sandbox, and print the checkpoint's id",
    usage: "ID [CHECKPOINT]",
    positionals: { min: 1, max: 2 },
    options: {
      label: { type: "string", value: "TEXT", description: "A few words for the time line" },
      remove: { type: "boolean", description: "Remove CHECKPOINT instead" },
      json: JSON_OPTION,
    },
    load: () => import("../commands/checkpoint.ts"),
  },
  {
    name: "log",
    summary: "Show the time line of a sandbox: its checkpoints, and where its files come from",
    usage: "ID",
    positionals: ONE,
    options: {
      lines: { type: "string", short: "n", value: "N", description: "Number of checkpoints (default 100)" },
      json: JSON_OPTION,
    },
    load: () => import("../commands/log.ts"),
  },
  {
    name: "rollback",
    summary: "Put all files of a sandbox back to a point. Its processes end, its id and links stay",
    usage: "ID POINT",
    positionals: { min: 2, max: 2 },
    options: { json: JSON_OPTION },
    details: `${POINTS} What was written since is gone, unless a later checkpoint holds it.`,
    load: () => import("../commands/rollback.ts"),
  },
  {
    name: "rewind",
    summary: "Take back the last tool calls in a sandbox, with all that was written since. Its processes end",
    usage: "ID [CALL]",
    positionals: { min: 1, max: 2 },
    options: {
      calls: { type: "string", short: "n", value: "N", description: "How many (default 1)" },
      json: JSON_OPTION,
    },
    details:
      "CALL is the checkpoint before a call, as `belljar log ID` shows it. Calls have checkpoints where the setting sandbox.autoCheckpoint says so, or `sandbox create --auto-checkpoint per_call`.",
    load: () => import("../commands/rewind.ts"),
  },
  {
    name: "changes",
    summary: "Show what changed in a sandbox since a point, or between two",
    usage: "ID [FROM [TO]]",
    positionals: { min: 1, max: 3 },
    options: {
      path: { type: "string", multiple: true, value: "PATH", description: "Only this and what is below it; may be repeated" },
      "name-only": { type: "boolean", description: "Print the paths alone" },
      unified: { type: "boolean", short: "u", description: "Not side by side, however wide the terminal is" },
      json: JSON_OPTION,
    },
    details: `${POINTS}\nFROM is by default the last checkpoint that somebody asked for, else the one before the last call, and TO the sandbox as it is now. ${PATHS}`,
    load: () => import("../commands/changes.ts"),
  },
  {
    name: "undo",
    summary: "Put some files and folders of a sandbox back to a point. Nothing ends",
    usage: "ID POINT PATH...",
    positionals: { min: 3, max: 258 },
    options: { json: JSON_OPTION },
    details: `${POINTS} ${PATHS}\nPrints the paths that it wrote or removed. What it must leave alone is told, and the exit code is 1.`,
    load: () => import("../commands/undo.ts"),
  },
  {
    name: "merge",
    summary: "Bring into a sandbox what another one has changed since both had the same files",
    usage: "ID FROM_ID [PATH...]",
    positionals: { min: 2, max: 258 },
    options: { json: JSON_OPTION },
    details: `${PATHS}\nPrints the paths that it wrote or removed. Conflicts are told and left alone, and the exit code is 1.`,
    load: () => import("../commands/merge.ts"),
  },
];

const CONTEXT_OF: Pick<CommandSpec, "usage" | "positionals"> = { usage: "ID CONTEXT", positionals: { min: 2, max: 2 } };

const CONTEXT: readonly CommandSpec[] = [
  {
    name: "context list",
    synonyms: ["context ls"],
    summary: "List the interpreters of a sandbox that keep their variables",
    usage: "ID",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/context-list.ts"),
  },
  {
    name: "context create",
    summary: "Start one more interpreter, and print its id",
    usage: "ID",
    positionals: ONE,
    options: {
      lang: { type: "string", value: "NAME", description: "python (default), javascript, typescript or bash" },
      cwd: CWD,
      json: JSON_OPTION,
    },
    load: () => import("../commands/context-create.ts"),
  },
  {
    name: "context restart",
    summary: "End an interpreter and start it again, without its variables",
    ...CONTEXT_OF,
    options: { json: JSON_OPTION },
    load: () => import("../commands/context-change.ts"),
  },
  {
    name: "context interrupt",
    summary: "Stop the code that runs in an interpreter. Its variables stay",
    ...CONTEXT_OF,
    options: { json: JSON_OPTION },
    load: () => import("../commands/context-change.ts"),
  },
  {
    name: "context remove",
    synonyms: ["context rm"],
    summary: "End an interpreter",
    ...CONTEXT_OF,
    options: { json: JSON_OPTION },
    load: () => import("../commands/context-change.ts"),
  },
];

/** States of sandboxes: snapshots and what is made from them, time lines, and interpreters that keep their variables. */
export const STATE: readonly CommandSpec[] = [
  ...SNAPSHOT,
  {
    name: "fork",
    summary: "Create sandboxes with the files of a sandbox as it is now, or of a snapshot, and print their ids",
    usage: "ID|SNAPSHOT",
    positionals: ONE,
    options: FORK_OPTIONS,
    details: "Processes, the network policy, secrets and links to ports are not copied. All forks are made, or none.",
    load: () => import("../commands/fork.ts"),
  },
  ...TIME_LINE,
  ...CONTEXT,
];
