/** Far beyond what a call means, and few enough that a schema is checked against all of them in a moment. */
export const VALUES_MAX = 10_000;

/** Whether a parsed JSON holds more values than `max`, itself and those inside. Calls nothing recursively, and counts no further. */
export function hasMoreValues(json: unknown, max: number = VALUES_MAX): boolean {
  const left = [json];
  let count = 1;
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== "object" || next === null) continue;
    const values: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += values.length;
    if (count > max) return true;
    left.push(...values);
  }
  return false;
}
