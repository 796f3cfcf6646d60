import type { DeadlineAction } from "../runtime/contract/run.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import type { CreateOptions } from "../sandbox/sandbox.ts";
import type { CommandCall, OptionSpec } from "./command.ts";
import { textOption } from "./command.ts";
import { usage } from "./usage.ts";
import { parseCores, parseCount, parseDuration, parseSize } from "./values.ts";

/** The options for limits, the same for every command that takes them. */
export const LIMIT_OPTIONS = {
  memory: { type: "string", value: "SIZE", description: "Memory limit: 512m, 2g" },
  cpus: { type: "string", value: "N", description: "Cores, may be a fraction" },
  pids: { type: "string", value: "N", description: "Maximum number of processes and threads" },
  disk: { type: "string", value: "SIZE", description: "Maximum disk space" },
  "open-files": { type: "string", value: "N", description: "Maximum number of open files of each process" },
} as const satisfies Record<string, OptionSpec>;

export const LIFETIME: OptionSpec = {
  type: "string",
  value: "TIME",
  description: "Lifetime of a sandbox that nobody extends: 90s, 1h",
};

const ACTIONS = ["kill", "pause", "stop"] as const satisfies readonly DeadlineAction[];

export const ON_DEADLINE: OptionSpec = {
  type: "string",
  value: "ACTION",
  description: "What happens at the deadline: kill, pause, or stop, which keeps the files",
};

const AUTO_CHECKPOINTS = ["per_call", "off"] as const satisfies readonly CreateOptions["autoCheckpoint"][];

export const AUTO_CHECKPOINT: OptionSpec = {
  type: "string",
  value: "WHEN",
  description: "Checkpoints before tool calls that may write: per_call or off (default: as the configuration says)",
};

/** Whether the command line wants checkpoints before calls. Rejects with `USAGE`. */
export function namedAutoCheckpoint(call: CommandCall): CreateOptions["autoCheckpoint"] {
  return choiceOption(call, "auto-checkpoint", AUTO_CHECKPOINTS);
}

/** What the command line wants to happen at the deadline. Rejects with `USAGE`. */
export function namedAction(call: CommandCall): DeadlineAction | undefined {
  return choiceOption(call, "on-deadline", ACTIONS);
}

export const PAUSE_IDLE: OptionSpec = {
  type: "string",
  value: "TIME",
  description: "Pause it when it has been idle for this time: 90s, 30m. 0 for never",
};

/** After which idle time the command line wants a pause. Rejects with `USAGE`. */
export function namedIdle(call: CommandCall): number | undefined {
  return parsedOption(call, "pause-idle", (option, text) => (text === "0" ? 0 : parseDuration(option, text)));
}

/** The limits that the command line names. Rejects with `USAGE`. */
export function namedLimits(call: CommandCall): Limits {
  return withoutUndefined({
    memoryBytes: parsedOption(call, "memory", parseSize),
    cpus: parsedOption(call, "cpus", parseCores),
    pids: parsedOption(call, "pids", parseCount),
    diskBytes: parsedOption(call, "disk", parseSize),
    openFiles: parsedOption(call, "open-files", parseCount),
  });
}

/** The lifetime that the command line names. */
export function namedLifetime(call: CommandCall): number | undefined {
  return parsedOption(call, "timeout", parseDuration);
}

export function choiceOption<const Choice extends string>(call: CommandCall, name: string, choices: readonly Choice[]): Choice | undefined {
  return parsedOption(call, name, (option, text) => {
    const choice = choices.find((one) => one === text);
    if (choice !== undefined) return choice;
    throw usage(`--${option} "${text}" is unknown; expected one of ${choices.join(", ")}`, `belljar ${call.spec.name} --help`);
  });
}

function parsedOption<T>(call: CommandCall, name: string, parse: (option: string, text: string) => T): T | undefined {
  const text = textOption(call, name);
  return text === undefined ? undefined : parse(name, text);
}

export function withoutUndefined<T extends object>(value: { readonly [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
