import { printable } from "../files/printable.ts";
import type { ChangedPaths } from "../sandbox/wire/state-schemas.ts";
import { coloursFor } from "./colours.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { isSet } from "./command.ts";
import { printJson, printLine } from "./print.ts";

/** Prints what an undo or a merge has changed, and its conflicts. Resolves with the exit code: 1 with conflicts. */
export function printChangedPaths(call: CommandCall, { stdout, stderr, env }: CommandContext, result: ChangedPaths): number {
  const { changed, conflicts } = result;
  if (isSet(call, "json")) printJson(stdout, result);
  else {
    const { red } = coloursFor(stderr, env);
    for (const path of changed) printLine(stdout, printable(path));
    for (const { path, reason } of conflicts) stderr.write(`${red(`Conflict: ${printable(path)}, ${printable(reason)}`)}\n`);
    if (changed.length === 0 && conflicts.length === 0) printLine(stderr, "Nothing to change.");
  }
  return conflicts.length === 0 ? 0 : 1;
}
