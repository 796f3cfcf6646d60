import { printable } from "../files/printable.ts";
import type { RollbackResult } from "../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { isSet } from "./command.ts";
import { printJson, printLine } from "./print.ts";

/** `before`: the tools whose call was taken back. */
export function printRollback(
  call: CommandCall,
  { stdout, stderr }: Pick<CommandContext, "stdout" | "stderr">,
  { before, sandbox, ...told }: RollbackResult & { readonly before?: string | undefined },
): void {
  const named = before === undefined ? {} : { before };
  if (isSet(call, "json")) return printJson(stdout, { id: sandbox.id, ...named, ...told });
  printLine(stdout, `${sandbox.id} is back at ${told.checkpoint}${before === undefined ? "" : `, before ${printable(before)}`}`);
  for (const one of told.ended) printLine(stderr, `Ended: ${one}`);
  for (const one of told.lost) printLine(stderr, `Not put back: ${one}`);
}
