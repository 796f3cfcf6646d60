const SHOWN_LINES = 12;
const SHOWN_COLUMNS = 200;
/** Lines such as `}` are frequent. A few places of each are enough to find where most of the text fits. */
const PLACES_PER_LINE = 50;
const COMPARED_CHARACTERS = 1_000_000;
/** Maximum number of lines of the file, enough for every file that a person reads. */
const LINES_MAX = 200_000;
const WANTED_LINES_MAX = 2_000;
const LINE_CHARACTERS = 400;
const LIKENESS_MIN = 0.5;

/** The lines of a file that are most similar to a text that is not in it. An error message shows them. */
export interface NearestLines {
  /** `line 4`, or `lines 4 to 6`. */
  readonly place: string;
  /** True if only spaces, tabs or line ends differ. */
  readonly differsInSpace: boolean;
  /** The lines with their numbers, cut to a bounded size. */
  readonly shown: string;
}

/** Returns undefined if nothing in `text` is similar to `wanted`. It compares a bounded number of lines, so its work is bounded too. */
export function findNearestLines(text: string, wanted: string): NearestLines | undefined {
  const lines = toLines(text, LINES_MAX);
  const wantedLines = toLines(wanted, WANTED_LINES_MAX);
  const start = placeByEqualLines(lines, wantedLines) ?? placeByLikeness(lines, wantedLines);
  if (start === undefined) return undefined;
  const from = Math.max(0, start);
  const to = Math.min(lines.length, start + wantedLines.length);
  const differsInSpace = squeezeAll(lines.slice(from, to)) === squeezeAll(wantedLines);
  const place = to === from + 1 ? `line ${to}` : `lines ${from + 1} to ${to}`;
  return { place, differsInSpace, shown: show(lines.slice(from, to), from + 1) };
}

function toLines(text: string, most: number): readonly string[] {
  const lines = text.split("\n", most);
  return lines.length > 1 && lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function squeeze(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function squeezeAll(lines: readonly string[]): string {
  return lines.join("").replace(/\s+/g, "");
}

/** Each equal line votes for the start that follows from its place. A vote weighs as much as the line is long. */
function placeByEqualLines(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>(wanted.map((line) => [squeeze(line), []]));
  places.delete("");
  for (const [index, line] of lines.entries()) {
    const known = places.get(squeeze(line));
    if (known && known.length < PLACES_PER_LINE) known.push(index);
  }
  const votes = new Map<number, number>();
  for (const [offset, line] of wanted.entries()) {
    for (const index of places.get(squeeze(line)) ?? []) votes.set(index - offset, (votes.get(index - offset) ?? 0) + line.length);
  }
  return best(votes);
}

function best(votes: ReadonlyMap<number, number>): number | undefined {
  let winner: number | undefined;
  for (const [start, weight] of votes) {
    if (winner === undefined || weight > (votes.get(winner) ?? 0)) winner = start;
  }
  return winner;
}

/** Finds the line that shares the most pairs of letters with the longest wanted line. */
function placeByLikeness(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const longest = wanted.reduce((a, b) => (squeeze(b).length > squeeze(a).length ? b : a), "");
  const pairs = pairsOf(squeeze(longest).slice(0, LINE_CHARACTERS));
  if (pairs.size === 0) return undefined;
  let winner: { readonly index: number; readonly likeness: number } = { index: -1, likeness: LIKENESS_MIN };
  let room = COMPARED_CHARACTERS;
  for (const [index, line] of lines.entries()) {
    const part = line.slice(0, LINE_CHARACTERS);
    room -= part.length + 1;
    if (room < 0) break;
    const likeness = shareOf(pairs, pairsOf(squeeze(part)));
    if (likeness > winner.likeness) winner = { index, likeness };
  }
  return winner.index < 0 ? undefined : winner.index - wanted.indexOf(longest);
}

function pairsOf(text: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < text.length; at += 1) pairs.add(text.slice(at, at + 2));
  return pairs;
}

function shareOf(wanted: ReadonlySet<string>, found: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of wanted) if (found.has(pair)) shared += 1;
  return shared / wanted.size;
}

function show(lines: readonly string[], startLine: number): string {
  const shown = lines.slice(0, SHOWN_LINES).map((line, index) => `${String(startLine + index).padStart(6)}\t${clip(line)}`);
  return [...shown, ...(lines.length > SHOWN_LINES ? [`        ... and ${lines.length - SHOWN_LINES} more lines`] : [])].join("\n");
}

/** Makes a CR at the end visible, because it is often the difference. */
function clip(line: string): string {
  const visible = line.endsWith("\r") ? `${line.slice(0, -1)}\\r` : line;
  return visible.length > SHOWN_COLUMNS ? `${visible.slice(0, SHOWN_COLUMNS)}...` : visible;
}
