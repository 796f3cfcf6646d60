import type { DeadlineAction, Limits } from "../runtime/runtime.ts";
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

/** What the command line wants to happen at the deadline. Rejects with `USAGE`. */
export function namedAction(call: CommandCall): DeadlineAction | undefined {
  return parsedOption(call, "on-deadline", (option, text) => {
    const action = ACTIONS.find((one) => one === text);
    if (action) return action;
    throw usage(`--${option} "${text}" is unknown; expected one of ${ACTIONS.join(", ")}`, `belljar ${call.spec.name} --help`);
  });
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

function parsedOption<T>(call: CommandCall, name: string, parse: (option: string, text: string) => T): T | undefined {
  const text = textOption(call, name);
  return text === undefined ? undefined : parse(name, text);
}

export function withoutUndefined<T extends object>(value: { readonly [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
