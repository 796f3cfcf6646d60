import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE } from "./shared-options.ts";

/** Commands about this machine and this Belljar. */
export const MACHINE: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary: "Show what is enforced on this machine, and how to get the rest",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/doctor.ts"),
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
