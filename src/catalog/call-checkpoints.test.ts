import { expect, it } from "vitest";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CallCheckpoints, mayWrite } from "./call-checkpoints.ts";

const WRITES = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
const READS = { ...WRITES, readOnlyHint: true };
const { signal } = new AbortController();

function recorded(problem?: string) {
  const asked: string[] = [];
  const timeLine = { beforeCall: async (tool: string) => (asked.push(tool), problem) };
  return { asked, sandbox: (id: string) => ({ id, timeLine }) as unknown as Sandbox };
}

it("asks once for each sandbox of a call, and tells a problem once", async () => {
  const { asked, sandbox } = recorded("no room");
  const checkpoints = new CallCheckpoints({ name: "edit_file", annotations: WRITES }, signal);
  const told = await Promise.all(["a", "a", "b"].map((id) => checkpoints.before(sandbox(id))));
  expect([told, asked]).toEqual([
    ["no room", undefined, "no room"],
    ["edit_file", "edit_file"],
  ]);
});

it("asks nothing for a tool that only reads, nor of a sandbox whose tools a server runs", async () => {
  const { asked, sandbox } = recorded();
  await new CallCheckpoints({ name: "read_file", annotations: READS }, signal).before(sandbox("a"));
  const remote = { id: "a", timeLine: {} } as unknown as Sandbox;
  expect(await new CallCheckpoints({ name: "edit_file", annotations: WRITES }, signal).before(remote)).toBeUndefined();
  expect(asked).toEqual([]);
});

it.each([
  [WRITES, undefined, true],
  [READS, undefined, false],
  [READS, "dynamic", true],
  [READS, "proxied", true],
] as const)("believes Belljar's own tools alone that they write nothing (%o, %s)", (annotations, origin, expected) => {
  expect(mayWrite({ annotations, ...(origin && { origin }) })).toBe(expected);
});
