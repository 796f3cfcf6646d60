import type { CommandCall } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { usage } from "../usage.ts";

const ADVICE = {
  "mcp-config": "start the server with it",
  network: "the server decides about networks itself: `serve --network`, and the scope network:RULE of a token",
  toolsets: "the server decides about tools itself: `serve --toolsets`, and the scopes toolset:NAME of a token",
  "read-only": "the server decides about tools itself: `serve --read-only`, and the scope read-only of a token",
} as const;

/** Throws `USAGE` if one of these options is on the command line of a command that only forwards to a server. */
export function refuseForServer(call: CommandCall, options: readonly (keyof typeof ADVICE)[]): void {
  const named = options.find((option) => textOption(call, option) !== undefined || isSet(call, option));
  if (named === undefined) return;
  const problem = `--${named} is for a Belljar of this machine: with --gateway (BELLJAR_URL) ${ADVICE[named]}`;
  throw usage(problem, `belljar ${call.spec.name} --help`);
}
