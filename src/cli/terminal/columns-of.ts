import type { Writable } from "node:stream";

/** The columns of the terminal to which this writes; undefined if it is none, or does not know them. */
export function columnsOf(stream: Writable & { readonly isTTY?: boolean }): number | undefined {
  return stream.isTTY && "columns" in stream && typeof stream.columns === "number" && stream.columns > 0 ? stream.columns : undefined;
}
