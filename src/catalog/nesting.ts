/** Far beyond what a message means, and far below what a serialiser that calls itself can take. */
export const NESTING_MAX = 500;

/** Whether parsed JSON has more levels than `max`. Calls nothing recursively. */
export function isNestedTooDeep(json: unknown, max: number = NESTING_MAX): boolean {
  let level = [json];
  for (let depth = 0; depth <= max; depth += 1) {
    level = membersOf(level);
    if (level.length === 0) return false;
  }
  return true;
}

/** Loops, because every message comes here, and `flatMap` makes an array for each value. */
function membersOf(values: readonly unknown[]): unknown[] {
  const members: unknown[] = [];
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue;
    for (const member of Object.values(value)) members.push(member);
  }
  return members;
}
