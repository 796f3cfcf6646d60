import { expect, it } from "vitest";
import * as z from "zod";
import { zodSchema } from "./tool-schema.ts";

const schema = zodSchema(
  z.strictObject({
    path: z.string(),
    action: z.enum(["list", "stop"]),
    edits: z.array(z.strictObject({ old: z.string() })).optional(),
    start_line: z.int().optional(),
  }),
);
const problems = (value: unknown): unknown => schema.parse(value);

it("says which field is missing and what it takes", () => {
  expect(problems({})).toEqual({ problems: ["path: missing; expected string", 'action: missing; expected "list" or "stop"'] });
  expect(problems({ path: "a", action: "list", edits: [{}] })).toEqual({ problems: ["edits.0.old: missing; expected string"] });
});

it("says which fields there are, if it does not know one", () => {
  const known = "expected path, action, edits, start_line";
  expect(problems({ path: "a", action: "list", pth: 1, x: 2 })).toEqual({ problems: [`unknown: "pth", "x"; ${known}`] });
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${n}`.repeat(100), n]));
  const [only = ""] = (problems({ path: "a", action: "list", ...many }) as { problems: string[] }).problems;
  expect(only).toContain(known);
  expect(only.length).toBeLessThan(500);
});

it("keeps the validator's words for a value that is there", () => {
  expect(problems({ path: 1, action: "fly" })).toEqual({
    problems: [expect.stringContaining("path: ") as string, expect.stringMatching(/^action: .*"list"\|"stop"/) as string],
  });
});

it("shows callers no words that some of their validators refuse, and no bound that nobody meets", () => {
  const shown = zodSchema(
    z.strictObject({
      labels: z.record(z.string().regex(/^a/), z.string()),
      whole: z.int(),
      small: z.int().min(1).max(9),
      name: z.string().max(49),
      text: z.string().max(50),
      few: z.array(z.string()).max(49),
      many: z.array(z.string()).max(50),
      path: z.string().regex(/^[^\0]+$/),
    }),
  ).schema;
  const { labels, whole, small, name, text, few, many, path } = shown["properties"] as Record<string, Record<string, unknown>>;
  expect(shown).not.toHaveProperty("$schema");
  expect(labels).not.toHaveProperty("propertyNames");
  expect([whole, small]).toEqual([{ type: "integer" }, { type: "integer", minimum: 1, maximum: 9 }]);
  expect([name?.["maxLength"], text?.["maxLength"], few?.["maxItems"], many?.["maxItems"]]).toEqual([49, undefined, 49, undefined]);
  expect(path?.["pattern"]).toBe("^[^\\u0000]+$");
});

it("shows the input or the output side, and makes it once", () => {
  const both = z.object({ count: z.string().transform(Number).pipe(z.number()), more: z.string().default("x") });
  const input = zodSchema(both);
  expect(input.schema).toBe(input.schema);
  expect(input.schema).toMatchObject({ type: "object", properties: { count: { type: "string" } } });
  expect(zodSchema(both, { io: "output" }).schema).toMatchObject({
    properties: { count: { type: "number" } },
    required: ["count", "more"],
  });
});

it("takes the names that other clients send", () => {
  const eased = zodSchema(z.strictObject({ path: z.string() }), { accept: ({ file, ...rest }) => ({ path: file, ...rest }) });
  expect(eased.parse({ file: "a" })).toEqual({ value: { path: "a" } });
  expect(eased.parse("a")).toHaveProperty("problems");
});
