import { expect, it } from "vitest";
import { ABLE_HOST } from "../../../test/support/host-isolation.ts";
import { withCallCheckpointsCheck } from "./call-checkpoints-check.ts";

it.each([
  ["clone", "auto", /^A checkpoint is taken before each tool call that may write, and the last 7 are kept: it takes the same time/],
  ["clone", "off", /^No checkpoints before tool calls: sandbox.autoCheckpoint is off$/],
  ["copy", "auto", /^No checkpoints before tool calls, since each would copy .* sandbox.autoCheckpoint per_call takes them/],
  ["copy", "per_call", /^A checkpoint is taken .*: each copies what the sandbox wrote$/],
  ["none", "per_call", /^No checkpoints before tool calls: this runtime keeps no states$/],
] as const)("says what holds where states are frozen by %s and the setting is %s", (states, autoCheckpoint, detail) => {
  const { checks } = withCallCheckpointsCheck({ ...ABLE_HOST, states }, { autoCheckpoint, autoCheckpointKeep: 7 });
  expect(checks).toEqual([{ id: "call-checkpoints", state: "enforced", detail: expect.stringMatching(detail) as string }]);
});

it("says nothing where no sandbox can be made", () => {
  const host = { ...ABLE_HOST, available: false };
  expect(withCallCheckpointsCheck(host, { autoCheckpoint: "auto", autoCheckpointKeep: 7 })).toBe(host);
});
