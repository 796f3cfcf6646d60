import type { StartCommand } from "../sandbox/wire/start-command.ts";
import type { CommandCall, OptionSpec } from "./command.ts";
import { textOption } from "./command.ts";
import { withoutUndefined } from "./limit-options.ts";
import { parsePort } from "./port-argument.ts";
import { usage } from "./usage.ts";
import { parseDuration } from "./values.ts";

/** What the sandboxes of a template begin with, the same for every command that makes one. */
export const START_OPTIONS = {
  start: { type: "string", value: "COMMAND", description: "For /bin/sh: its sandboxes run it in the background from their start on" },
  ready: { type: "string", value: "COMMAND", description: "With --start: hand a sandbox over once this check succeeds" },
  "ready-port": { type: "string", value: "PORT", description: "With --start: hand a sandbox over once something listens there" },
  "ready-timeout": { type: "string", value: "TIME", description: "How long to wait for that: 30s, 5m (default 60s)" },
} as const satisfies Record<string, OptionSpec>;

/** The start command that the command line names. Throws `USAGE`. */
export function namedStart(call: CommandCall): { readonly start?: StartCommand } {
  const [command, port, time] = [textOption(call, "start"), textOption(call, "ready-port"), textOption(call, "ready-timeout")];
  const help = `belljar ${call.spec.name} --help`;
  const more = withoutUndefined({
    ready: textOption(call, "ready"),
    readyPort: port === undefined ? undefined : parsePort(port, help),
    readyTimeoutMs: time === undefined ? undefined : parseDuration("ready-timeout", time),
  });
  if (command !== undefined) return { start: { command, ...more } };
  if (Object.keys(more).length > 0) throw usage("--ready, --ready-port and --ready-timeout belong to --start: name a command", help);
  return {};
}
