import { expect, it } from "vitest";
import { SandboxLog } from "./sandbox-log.ts";

const call = (tool: string) => ({ tool, outcome: "ok", durationMs: 1.6, arguments: { a: 1 } }) as const;

it("writes a line for each call, the oldest first", () => {
  const log = new SandboxLog(() => new Date(0));
  for (const tool of ["one", "two"]) log.note("a", call(tool));
  expect(log.lines("a")).toEqual(['1970-01-01T00:00:00.000Z one ok 2 ms {"a":1}', '1970-01-01T00:00:00.000Z two ok 2 ms {"a":1}']);
  expect(log.lines("b")).toEqual([]);
});

it("keeps the last 200 lines of a sandbox, and of arguments the beginning", () => {
  const log = new SandboxLog(() => new Date(0));
  for (let count = 0; count <= 200; count++)
    log.note("a", { ...call(`t${count}.`), arguments: Object.fromEntries(["a", "b", "c"].map((key) => [key, "x".repeat(150)])) });
  const lines = log.lines("a");
  expect([lines.length, lines[0]?.includes(" t1. "), lines.at(-1)?.includes(" t200. ")]).toEqual([200, true, true]);
  expect(lines[0]?.split(" ms ")[1]).toHaveLength(300);
});

it("keeps the thousand sandboxes that were used last", () => {
  const log = new SandboxLog();
  for (const id of ["used again", "oldest"]) log.note(id, call("t"));
  for (let count = 2; count < 1_000; count++) log.note(`s${count}`, call("t"));
  expect([log.lines("used again").length, log.lines("oldest").length]).toEqual([1, 1]);
  log.note("used again", call("t"));
  log.note("one more", call("t"));
  expect([log.lines("used again").length, log.lines("oldest").length, log.lines("s2").length]).toEqual([2, 0, 1]);
});
