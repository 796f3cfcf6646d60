import { createHash } from "node:crypto";

/** The same text for the same value, in whichever order its keys stand. The value is not nested too deep for `JSON.stringify`. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => toOrdered(inner)) ?? "null";
}

/** Tells two values apart. */
export function digestOf(value: unknown): string {
  return digestText(canonical(value));
}

export function digestText(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function toOrdered(value: unknown): unknown {
  if (value instanceof Set) return [...value];
  if (value instanceof URL) return value.href;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
