/** Deeper values would overflow the stack of whoever writes, compares or checks them. */
export const JSON_DEPTH_MAX = 100;

/** Whether a value of JSON has at most so many levels of arrays and objects. It takes no stack itself. */
export function isShallow(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= JSON_DEPTH_MAX; depth += 1) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
    if (level.length === 0) return true;
  }
  return false;
}
