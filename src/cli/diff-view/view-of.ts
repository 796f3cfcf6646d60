import { coloursFor } from "../colours.ts";
import type { CommandContext } from "../command.ts";
import { columnsOf } from "../terminal/columns-of.ts";
import type { View } from "./render-patch.ts";

/** How a diff is shown here: in colours on a terminal, side by side in a wide one unless the person wants it unified. */
export function viewOf({ stdout, env }: CommandContext, isUnified: boolean): View & { readonly terminalColumns?: number } {
  const columns = columnsOf(stdout);
  return {
    colours: coloursFor(stdout, env),
    ...(columns !== undefined && { terminalColumns: columns, ...(!isUnified && { columns }) }),
  };
}
