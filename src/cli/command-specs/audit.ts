import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE } from "./shared-options.ts";

/** `belljar audit ...` */
export const AUDIT: readonly CommandSpec[] = [
  {
    name: "audit verify",
    summary: "Check that no line of the audit was changed",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/audit-verify.ts"),
  },
  {
    name: "audit tail",
    summary: "Show the last calls and connections",
    usage: "",
    positionals: NONE,
    options: {
      lines: { type: "string", short: "n", value: "N", description: "Number of lines (default 20)" },
      follow: { type: "boolean", short: "f", description: "Keep printing new lines" },
      json: { type: "boolean", description: "Print the lines as they are stored" },
    },
    load: () => import("../commands/audit-tail.ts"),
  },
];
