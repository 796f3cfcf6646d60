const FIRST_DELAY_MS = 500;
const DELAY_MAX_MS = 30_000;

/** How long to wait before a start, after so many ends in a row: not at all after the first, and then twice as long each time. */
export function restartDelayMs(ends: number): number {
  return ends <= 1 ? 0 : Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** (ends - 2));
}
