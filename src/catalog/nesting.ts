/** Far beyond what a message means, and far below what a serialiser that calls itself can take. */
export const NESTING_MAX = 500;

/** Whether parsed JSON has more levels than `max`. Calls nothing recursively. */
export function isNestedTooDeep(json: unknown, max: number = NESTING_MAX): boolean {
  let level = [json];
  for (let depth = 0; depth <= max; depth += 1) {
    level = level.flatMap((value): unknown[] => (typeof value === "object" && value !== null ? Object.values(value) : []));
    if (level.length === 0) return false;
  }
  return true;
}
