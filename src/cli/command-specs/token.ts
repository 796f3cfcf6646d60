import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE, ONE } from "./shared-options.ts";

/** Held by `src/gateway/auth/scopes.test.ts`: help loads none of the gateway. */
export const SCOPES = `Scopes (a token without any may do all that the configuration allows):
  toolset:NAME              this toolset: its tools, resources and routes
  secrets                   the routes of its own secrets
  settings                  the routes of its tool servers
  metrics                   what the server counts (/metrics)
  read-only                 only tools that change nothing
  workspace:DIR[:MODE]      this folder of the host, or below; copy, ro or rw
  workspaces                any folder of the host
  network:none|all|RULE     the widest network of its sandboxes
  max-memory:SIZE           the most memory of one sandbox
  max-disk:SIZE             the most disk of one sandbox
  max-cpus:N                the most cores of one sandbox
  max-pids:N                the most processes of one sandbox
  sandboxes:N               sandboxes that live at once
  memory:SIZE               memory of all its live sandboxes
  cpu-seconds:N             CPU time that its live sandboxes have used
  calls-per-minute:N        tool calls in a minute
  output-per-minute:SIZE    results in a minute`;

/** `belljar token ...` */
export const TOKEN: readonly CommandSpec[] = [
  {
    name: "token create",
    summary: "Make a token for `serve`; NAME owns what its holder makes",
    usage: "NAME",
    positionals: ONE,
    options: {
      scope: { type: "string", multiple: true, value: "SCOPE", description: "Narrow it; may be repeated (see below)" },
      json: JSON_OPTION,
    },
    details: SCOPES,
    load: () => import("../commands/token-create.ts"),
  },
  {
    name: "token list",
    summary: "List the tokens",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/token-list.ts"),
  },
  {
    name: "token revoke",
    summary: "Take tokens back, at once",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: {},
    load: () => import("../commands/token-revoke.ts"),
  },
];
