/**
 * Calls `found` with each place of `wanted` in `text`; places do not overlap. It uses the search of Knuth, Morris and Pratt, whose time
 * is linear. `indexOf` takes quadratic time for repetitive texts.
 */
export function findAll(text: Uint8Array, wanted: Uint8Array, found: (place: number) => void): void {
  const fallback = fallbacksOf(wanted);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    while (matched > 0 && wanted[matched] !== text[at]) matched = fallback[matched - 1] ?? 0;
    if (wanted[matched] === text[at]) matched += 1;
    if (matched < wanted.length) continue;
    found(at + 1 - matched);
    matched = 0;
  }
}

/** The same search for numbers. Places may overlap. It ends when `found` returns true. */
export function findRun(text: Int32Array, wanted: Int32Array, from: number, found: (place: number) => boolean): void {
  const fallback = fallbacksOf(wanted);
  let matched = 0;
  for (let at = from; at < text.length; at += 1) {
    while (matched > 0 && wanted[matched] !== text[at]) matched = fallback[matched - 1] ?? 0;
    if (wanted[matched] === text[at]) matched += 1;
    if (matched < wanted.length) continue;
    if (found(at + 1 - matched)) return;
    matched = fallback[matched - 1] ?? 0;
  }
}

/** For each prefix of the pattern: the length of its longest proper suffix that is also a prefix of the pattern. */
function fallbacksOf(pattern: Uint8Array | Int32Array): Int32Array {
  const fallback = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    while (length > 0 && pattern[length] !== pattern[at]) length = fallback[length - 1] ?? 0;
    if (pattern[length] === pattern[at]) length += 1;
    fallback[at] = length;
  }
  return fallback;
}
