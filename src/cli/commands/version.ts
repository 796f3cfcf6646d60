import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { readPackage } from "../compose/package-root.ts";
import { printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, { stdout }: CommandContext): Promise<number> {
  const { version } = readPackage();
  if (isSet(call, "json")) printJson(stdout, { version, node: process.version });
  else printLine(stdout, version);
  return 0;
}
