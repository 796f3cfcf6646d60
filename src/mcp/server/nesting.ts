/** Far beyond what a message means, and far below what a serialiser that calls itself can take. */
export const NESTING_MAX = 500;

/** Whether a parsed message has more levels than `NESTING_MAX`. Calls nothing recursively. */
export function isNestedTooDeep(message: unknown): boolean {
  let level = [message];
  for (let depth = 0; depth <= NESTING_MAX; depth += 1) {
    level = level.flatMap((value): unknown[] => (typeof value === "object" && value !== null ? Object.values(value) : []));
    if (level.length === 0) return false;
  }
  return true;
}
