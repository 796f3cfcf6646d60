/** Far beyond what a call means, and few enough that a schema is checked against all of them in a moment. */
export const VALUES_MAX = 10_000;

/** Whether a parsed JSON holds more values than `max`, itself and those inside. */
export function hasMoreValues(json: unknown, max: number = VALUES_MAX): boolean {
  return countValues(json, max) > max;
}

/** How many values a parsed JSON holds, itself and those inside. Calls nothing recursively, and looks no further once it has found more than `max`. */
export function countValues(json: unknown, max: number = VALUES_MAX): number {
  const left = [json];
  let count = 1;
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== "object" || next === null) continue;
    const values: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += values.length;
    if (count > max) break;
    left.push(...values);
  }
  return count;
}
