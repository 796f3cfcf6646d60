import { createHash } from "node:crypto";
import type { NamedCall } from "./call-approvals.ts";

const LEVELS_MAX = 1_000;

/** The whole SHA-256 of exactly this call: the same for the same arguments in another order, and for no other call that anybody can find. */
export function callDigest({ principal, tool, arguments: args }: NamedCall): string {
  const text = JSON.stringify([principal, tool, inOrder(args, 0)]);
  return createHash("sha256").update(text).digest("hex");
}

function inOrder(value: unknown, level: number): unknown {
  if (typeof value !== "object" || value === null || level > LEVELS_MAX) return value;
  if (Array.isArray(value)) return value.map((item) => inOrder(item, level + 1));
  // As pairs: an object's own order puts numbers first, and a field may be called __proto__.
  return {
    pairs: Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, inOrder(inner, level + 1)]),
  };
}
