import { printable } from "../files/printable.ts";
import type { Checkpoint, TimeLineInfo } from "../sandbox/wire/state-schemas.ts";
import type { Colours } from "./colours.ts";
import { formatWhen } from "./print.ts";

export interface TimeLineView {
  readonly colours: Colours;
  /** Of the sandbox. */
  readonly state: string;
  /** How many checkpoints are shown, the newest. */
  readonly lines: number;
  readonly now?: Date;
}

interface Node {
  readonly id: string | undefined;
  readonly parent: string | undefined;
  readonly text: string;
}

/** The time line as a graph, the newest first: `*` is a checkpoint, and the first line the sandbox as it is now. */
export function renderTimeLine(timeLine: TimeLineInfo, view: TimeLineView): string {
  const shown = timeLine.checkpoints.toReversed().slice(0, view.lines);
  const known = new Set(shown.map(({ id }) => id));
  const parentOf = (id: string | undefined): string | undefined => (id !== undefined && known.has(id) ? id : undefined);
  const { bold, dim } = view.colours;
  const now: Node = { id: undefined, parent: parentOf(timeLine.head), text: `${bold("now")}  ${view.state}` };
  const nodes = shown.map((one): Node => ({ id: one.id, parent: parentOf(one.parent), text: describe(one, view) }));
  const rest = timeLine.checkpoints.length - shown.length;
  const end = rest > 0 ? [dim(`${rest} older: --lines N shows more`)] : [];
  return [...drawNodes([now, ...nodes]), ...end].map((line) => `${line}\n`).join("");
}

function describe({ id, label, before, createdAt }: Checkpoint, { colours, now }: TimeLineView): string {
  const words = [label === undefined ? [] : [printable(label)], before === undefined ? [] : [colours.dim(`before ${printable(before)}`)]];
  return [colours.yellow(id), ...words.flat(), colours.dim(formatWhen(createdAt, now))].join("  ");
}

/** As git draws its log: each lane is a way down to the checkpoint that it waits for. */
function drawNodes(nodes: readonly Node[]): readonly string[] {
  let lanes: readonly string[] = [];
  return nodes.flatMap(({ id, parent, text }, index) => {
    const first = id === undefined ? -1 : lanes.indexOf(id);
    const column = first < 0 ? lanes.length : first;
    const [joins, left] = joinLanes(lanes, column);
    const count = Math.max(left.length, column + 1);
    const line = `${Array.from({ length: count }, (_, lane) => (lane === column ? "*" : "|")).join(" ")} ${text}`;
    lanes = parent === undefined ? left.toSpliced(column, 1) : left.toSpliced(column, 1, parent);
    const moves = parent === undefined && column < lanes.length && index < nodes.length - 1;
    return [...joins, line, ...(moves ? [drawMove(count, { from: column, to: column })] : [])];
  });
}

/** Leads the lanes that wait for the same checkpoint into the first of them, one after the other from the right. */
function joinLanes(lanes: readonly string[], column: number): readonly [lines: readonly string[], left: readonly string[]] {
  const lines: string[] = [];
  let left = lanes;
  for (;;) {
    const last = left.lastIndexOf(left[column] ?? "");
    if (last <= column) return [lines, left];
    lines.push(drawMove(left.length, { from: last, to: column }));
    left = left.toSpliced(last, 1);
  }
}

/** A lane leads into one on its left, `|/`, or from further away `|_|/`. Those on its right move up. A lane that ends leads nowhere. */
function drawMove(count: number, { from, to }: { readonly from: number; readonly to: number }): string {
  const cells = Array.from({ length: count }, (_, lane) => {
    if (lane > from) return "/ ";
    if (lane === from) return from === to ? "  " : "/ ";
    return lane > to ? "_|" : " |";
  });
  return cells.join("").slice(1).trimEnd();
}
