const MOST_EDITS = 2;
const SHORT = 4;
/** From this length on two edits are a slip of a key, and no other word. */
const LONG = 6;

/** Returns the candidate that was probably meant: the nearest one by edits, else the only one that begins with the text. */
export function suggest(text: string, candidates: readonly string[]): string | undefined {
  const near = candidates
    .map((name) => ({ name, edits: countEdits(text, name) }))
    .filter(({ name, edits }) => edits <= allowed(text, name));
  const [nearest] = near.toSorted((a, b) => a.edits - b.edits);
  if (nearest) return nearest.name;
  const longer = text.length < 2 ? [] : candidates.filter((name) => name.startsWith(text));
  return longer.length === 1 ? longer[0] : undefined;
}

/** The words ` Did you mean "..."?`, or nothing. */
export function didYouMean(text: string, candidates: readonly string[]): string {
  const meant = suggest(text, candidates);
  return meant === undefined ? "" : `. Did you mean "${meant}"?`;
}

/** The name that a key slipped from, for keys that are refused: a guess as loose as advice would refuse what somebody means. */
export function slipOf(key: string, names: readonly string[]): string | undefined {
  const written = key.toLowerCase();
  return names.find((name) => name !== key && isSlip(written, name.toLowerCase()));
}

/** Of a very short name, all words that differ in a letter are words too, beside its plural. */
function isSlip(written: string, name: string): boolean {
  const least = Math.min(written.length, name.length);
  if (least < SHORT) return written === name || written === `${name}s`;
  return countEdits(written, name) <= (least < LONG ? 1 : MOST_EDITS);
}

/** A short word has few letters to recognise it by. */
function allowed(text: string, name: string): number {
  return Math.min(MOST_EDITS, Math.floor(Math.min(text.length, name.length) / 2));
}

/** Insertions, deletions, replacements and swaps of neighbours between two short words. */
function countEdits(a: string, b: string): number {
  // A command line can be long; a word that differs so much in length is no slip.
  if (Math.abs(a.length - b.length) > MOST_EDITS) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const now = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1] ? 0 : 1;
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const edits = Math.min((last[column] ?? 0) + 1, (now[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + same);
      now.push(swapped ? Math.min(edits, (beforeLast[column - 2] ?? 0) + 1) : edits);
    }
    [beforeLast, last] = [last, now];
  }
  return last[b.length] ?? 0;
}
