/** As many of the first entries as fit so many bytes as JSON: a message to the server has a largest size. */
export function firstFitting<Entry>(entries: readonly Entry[], maxBytes: number): Entry[] {
  let bytes = 0;
  const end = entries.findIndex((entry) => (bytes += Buffer.byteLength(JSON.stringify(entry)) + 1) > maxBytes);
  return end < 0 ? [...entries] : entries.slice(0, end);
}

/** Of the last entries, in the same order. */
export function lastFitting<Entry>(entries: readonly Entry[], maxBytes: number): Entry[] {
  return firstFitting(entries.toReversed(), maxBytes).toReversed();
}
