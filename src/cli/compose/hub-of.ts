import { type OpenOnce, openOnce } from "../../async/open-once.ts";
import { printableText } from "../../files/printable.ts";
import type { Hub } from "../../mcp/proxy/hub.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { printLine } from "../print.ts";
import { openHomeSecretStore } from "./open-home-secret-store.ts";
import type { LocalStack } from "./open-stack.ts";

/** Opens the servers of the file that `--mcp-config` names. Undefined: it names none. */
export function hubOf(call: CommandCall, { env, stderr }: CommandContext, stack: LocalStack): OpenOnce<Hub> | undefined {
  const { config, sandboxes } = stack;
  const file = textOption(call, "mcp-config");
  if (file === undefined) return undefined;
  const report = (problem: string): void => printLine(stderr, `belljar: ${printableText(problem)}`);
  return openOnce(async () => {
    const secrets = openHomeSecretStore(config);
    return (await import("./open-hub.ts")).openHub({ file, config, sandboxes, secrets, templates: () => stack.templates(), env, report });
  });
}
