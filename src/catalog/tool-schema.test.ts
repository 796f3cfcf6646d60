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
