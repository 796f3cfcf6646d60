import type { CommandSpec, OptionSpec } from "./command.ts";
import { APPROVAL } from "./command-specs/approval.ts";
import { AROUND } from "./command-specs/around.ts";
import { AUDIT } from "./command-specs/audit.ts";
import { CLIENT } from "./command-specs/client.ts";
import { CONFIG } from "./command-specs/config.ts";
import { MACHINE } from "./command-specs/machine.ts";
import { PROGRAMS } from "./command-specs/programs.ts";
import { SANDBOX } from "./command-specs/sandbox.ts";
import { SECRET } from "./command-specs/secret.ts";
import { SERVER } from "./command-specs/server.ts";
import { SERVING } from "./command-specs/serving.ts";
import { STATE } from "./command-specs/state.ts";
import { TEMPLATE } from "./command-specs/template.ts";
import { TOOL } from "./command-specs/tool.ts";
import { TOKEN } from "./command-specs/token.ts";

/** Options of every command. */
export const GLOBAL_OPTIONS = {
  help: { type: "boolean", short: "h", description: "Show this help" },
  home: { type: "string", value: "DIR", description: "Folder with all state (BELLJAR_HOME, ~/.belljar)" },
  config: { type: "string", value: "FILE", description: "Configuration file (default config.json in the home)" },
  "token-file": { type: "string", value: "FILE", description: "File with the token for the server of BELLJAR_URL" },
  debug: { type: "boolean", description: "Show the stack of an error" },
} as const satisfies Record<string, OptionSpec>;

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [
  ...SERVING,
  ...PROGRAMS,
  ...SANDBOX,
  ...STATE,
  ...TEMPLATE,
  ...TOOL,
  ...AROUND,
  ...CLIENT,
  ...SERVER,
  ...APPROVAL,
  ...AUDIT,
  ...TOKEN,
  ...SECRET,
  ...CONFIG,
  ...MACHINE,
];
