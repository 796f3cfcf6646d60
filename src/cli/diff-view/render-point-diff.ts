import { printable } from "../../files/printable.ts";
import type { PointChange, PointDiff } from "../../sandbox/wire/state-schemas.ts";
import type { Colours } from "../colours.ts";
import type { View } from "./render-patch.ts";
import { renderPatch } from "./render-patch.ts";

const PAINTS = { added: "green", changed: "yellow", removed: "red", renamed: "cyan" } as const satisfies Record<
  PointChange["kind"],
  keyof Colours
>;

/** What differs between two points, for a terminal: a line for each path, then the diffs of texts. */
export function renderPointDiff({ changes, omitted }: PointDiff, view: View): string {
  const { colours } = view;
  const lines = changes.map((change) => `${colours[PAINTS[change.kind]](change.kind.padEnd(7))}  ${describePath(change)}\n`);
  const patches = changes.flatMap(({ patch }) => (patch === undefined ? [] : [`\n${renderPatch(patch, view)}`]));
  const rest = omitted > 0 ? [`\n${colours.dim(`${omitted} more changes are not shown: name some with --path.`)}\n`] : [];
  return [...lines, ...patches, ...rest].join("");
}

function describePath({ path, from, type }: PointChange): string {
  const mark = type === "directory" ? "/" : "";
  const before = from === undefined ? "" : `${printable(from)}${mark} -> `;
  return `${before}${printable(path)}${mark}`;
}
