import * as z from "zod";
import { expect, it } from "vitest";
import { explainIssue } from "./explain-issue.ts";

const schema = z.strictObject({
  name: z.string(),
  language: z.enum(["python", "shell"]),
  limits: z.strictObject({ pids: z.number() }).optional(),
  code: z.string().min(1, "it has no code").optional(),
});

it.each([
  [{ language: "python" }, "missing; expected string"],
  [{ name: 5, language: "python" }, "expected string"],
  [{ name: "a" }, 'missing; expected "python" or "shell"'],
  [{ name: "a", language: "shell", nam: 1 }, 'unknown: "nam"; expected name, language, limits, code'],
  [{ name: "a", language: "shell", limits: { pids: 1, pid: 2 } }, 'unknown: "pid"'],
  [{ name: "a", language: "shell", code: "" }, "it has no code"],
])("says of %j: %s", (given, said) => {
  const [issue] = schema.safeParse(given).error?.issues ?? [];
  expect(issue && explainIssue(issue, given, Object.keys(schema.shape))).toBe(said);
});
