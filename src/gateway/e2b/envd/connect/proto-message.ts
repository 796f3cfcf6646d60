import * as z from "zod";

/**
 * A message of proto3's JSON: names that it does not know are ignored, a name may also be written with underscores, and `null` is as good as left out.
 * What lies in a map of the message stays as it is.
 */
export function protoMessage<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = new Map(Object.keys(shape).flatMap((name) => [name, toUnderscores(name)].map((spelling) => [spelling, name] as const)));
  return z.preprocess((value) => (isRecord(value) ? renamed(value, names) : value), z.object(shape));
}

function renamed(value: Readonly<Record<string, unknown>>, names: ReadonlyMap<string, string>): Readonly<Record<string, unknown>> {
  const known = Object.entries(value).flatMap(([spelling, field]) => {
    const name = names.get(spelling);
    return name === undefined || field === null ? [] : [[name, field] as const];
  });
  return Object.fromEntries(known);
}

function toUnderscores(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
