import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE } from "./shared-options.ts";

/** `belljar secret ...` */
export const SECRET: readonly CommandSpec[] = [
  {
    name: "secret set",
    summary: "Store a secret that sandboxes can use and never read",
    usage: "NAME",
    // The command itself refuses further arguments, because the general message would show a secret value.
    positionals: { min: 1, max: 1000 },
    options: {},
    details: "The value comes from stdin, or from a prompt that does not show it; never from the command line.",
    load: () => import("../commands/secret-set.ts"),
  },
  {
    name: "secret list",
    summary: "List secrets, without their values",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/secret-list.ts"),
  },
  {
    name: "secret remove",
    summary: "Remove secrets",
    usage: "NAME...",
    positionals: { min: 1, max: 1000 },
    options: {},
    load: () => import("../commands/secret-remove.ts"),
  },
];
