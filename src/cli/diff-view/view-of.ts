import type { Writable } from "node:stream";
import { coloursFor } from "../colours.ts";
import type { CommandContext } from "../command.ts";
import type { View } from "./render-patch.ts";

/** How a diff is shown here: in colours on a terminal, side by side in a wide one unless the person wants it unified. */
export function viewOf({ stdout, env }: CommandContext, isUnified: boolean): View & { readonly terminalColumns?: number } {
  const columns = columnsOf(stdout);
  return {
    colours: coloursFor(stdout, env),
    ...(columns !== undefined && { terminalColumns: columns, ...(!isUnified && { columns }) }),
  };
}

function columnsOf(stdout: Writable & { readonly isTTY?: boolean }): number | undefined {
  return stdout.isTTY && "columns" in stdout && typeof stdout.columns === "number" && stdout.columns > 0 ? stdout.columns : undefined;
}
