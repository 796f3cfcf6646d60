import type { CommandSpec } from "../command.ts";
import { EXPIRES } from "../expiry-option.ts";
import { JSON_OPTION, NONE, ONE } from "./shared-options.ts";

/** Listed here because help must not load the gateway. `src/gateway/auth/scopes.test.ts` checks it. */
export const SCOPES = `Scopes (a token without scopes may do everything that the configuration allows):
  toolset:NAME              this toolset: its tools, resources and routes
  secrets                   the routes of its owner's secrets
  settings                  the routes of its owner's tool servers
  metrics                   the server's metrics (/metrics)
  surface:NAME              what it opens: e2b, E2B's APIs; belljar, everything else, which is the default
  read-only                 only tools that change nothing
  workspace:DIR[:MODE]      this folder of the host and the folders below it, as copy, ro or rw
  workspaces                any folder of the host
  runtime:NAME              this runtime for its sandboxes
  network:none|all|RULE     the widest network policy of its sandboxes
  max-memory:SIZE           the most memory of one sandbox
  max-disk:SIZE             the most disk of one sandbox
  max-cpus:N                the most cores of one sandbox
  max-pids:N                the most processes of one sandbox
  sandboxes:N               the most live sandboxes at once
  stopped-sandboxes:N       the most stopped sandboxes, whose files are kept
  snapshots:N               the most snapshots
  templates:SIZE            the most bytes of all its templates
  template-share            to share its templates with everybody
  tools:RIGHT               its own tools: publish, to have them go live; share, with everybody; share-secrets, those with secrets too
  servers                   to add, approve and remove MCP servers of its own
  server:NAME               this MCP server of the server's local user
  memory:SIZE               the most memory of all its live sandboxes
  cpu-seconds:N             the most CPU time of all its live sandboxes
  calls-per-minute:N        the most tool calls in a minute
  output-per-minute:SIZE    the most bytes of results in a minute`;

/** `belljar token ...` */
export const TOKEN: readonly CommandSpec[] = [
  {
    name: "token create",
    summary: "Create a token for `serve`. NAME owns everything that its holder creates",
    usage: "NAME",
    positionals: ONE,
    options: {
      scope: { type: "string", multiple: true, value: "SCOPE", description: "Limit the token; may be repeated (see above)" },
      expires: EXPIRES,
      e2b: {
        type: "string",
        value: "also",
        bare: "alone",
        description:
          "An API key for E2B's clients, with the variables to set. It opens E2B's APIs alone; with `also` everything else too. Without a scope for the network it gets what e2b.network says",
      },
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
    synonyms: ["token rm", "token remove"],
    summary: "Revoke tokens at once",
    usage: "ID...",
    positionals: { min: 1, max: 1000 },
    options: {},
    load: () => import("../commands/token-revoke.ts"),
  },
];
