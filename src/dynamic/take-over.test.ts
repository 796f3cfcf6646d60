import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { type LeftTool, takeOver } from "./take-over.ts";
import type { UnitLife } from "./unit-life.ts";

const TOOL: LeftTool = { source: "1", name: "weather", code: "x = 1" };

/** What is noted of one tool, and what is reported. */
async function takenWith(add: UnitLife["add"], { tool = TOOL, signal = new AbortController().signal } = {}) {
  const noted: unknown[] = [];
  const problems: string[] = [];
  const left = { each: async (take: (one: LeftTool) => Promise<unknown>) => void noted.push(await take(tool)) };
  await takeOver({ left, life: { add }, report: (problem) => problems.push(problem) }, signal);
  return { noted, problems };
}

const failing = (cause: unknown) => () => Promise.reject(cause as Error);

it("notes what cannot be added any more, and leaves for later what may succeed then", async () => {
  const outcomes = [
    ["TOOL_INVALID", undefined],
    ["TOOL_NAME_TAKEN", "TOOL_NAME_TAKEN"],
    ["TOOL_DEPENDENCIES_FAILED", undefined],
    ["TOOL_STORE_UNAVAILABLE", undefined],
    ["RUNTIME_FAILED", undefined],
  ] as const;
  for (const [code, noted] of outcomes)
    expect(await takenWith(failing(new BelljarError(code, "because")))).toEqual({
      noted: [noted],
      problems: ['The tool "weather" of MCP Box is not taken over: because'],
    });
  expect(await takenWith(failing(new TypeError("a bug")))).toMatchObject({
    noted: [undefined],
    problems: [expect.stringContaining("a bug")],
  });
});

it("names a row with a long name by the name's beginning", async () => {
  const add = failing(new BelljarError("TOOL_INVALID", "because"));
  const { problems } = await takenWith(add, { tool: { ...TOOL, name: "n".repeat(10_000) } });
  expect(problems).toEqual([`The tool "${"n".repeat(100)}" of MCP Box is not taken over: because`]);
});

it("says nothing of a tool that its own end has kept from being added, and leaves it for later", async () => {
  const closing = new AbortController();
  const add: UnitLife["add"] = (_principal, _given, signal) => {
    closing.abort();
    return Promise.reject(signal.reason as Error);
  };
  expect(await takenWith(add, { signal: closing.signal })).toEqual({ noted: [undefined], problems: [] });
});

it("reports rows that cannot be read at all", async () => {
  const problems: string[] = [];
  const left = { each: () => Promise.reject(new Error("no such column")) };
  const life = { add: failing(new Error("not reached")) };
  await takeOver({ left, life, report: (problem) => problems.push(problem) }, new AbortController().signal);
  expect(problems).toEqual(["The tools of MCP Box are not all taken over: no such column"]);
});
