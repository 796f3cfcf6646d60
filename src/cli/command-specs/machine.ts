import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE, ONE } from "./shared-options.ts";

/** Commands about this machine and this Belljar. */
export const MACHINE: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary: "Show what is enforced on this machine, and how to get the rest",
    usage: "",
    positionals: NONE,
    options: {
      json: JSON_OPTION,
      e2b: {
        type: "boolean",
        description: "Try instead whether E2B's clients find the server from here, with the key in E2B_API_KEY if it is set",
      },
    },
    load: () => import("../commands/doctor.ts"),
  },
  {
    name: "completion",
    summary: "Print what a shell needs to complete belljar's command lines",
    usage: "bash|zsh|fish",
    positionals: ONE,
    choices: ["bash", "zsh", "fish"],
    rest: true,
    completes: true,
    options: {},
    details: "For this shell alone: source <(belljar completion bash). The first line of what is printed says how to keep it.",
    load: () => import("../commands/completion.ts"),
  },
  {
    name: "version",
    summary: "Print the version",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/version.ts"),
  },
];
