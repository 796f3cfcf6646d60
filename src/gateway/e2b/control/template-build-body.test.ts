import { expect, it } from "vitest";
import { toStart } from "./template-build-body.ts";

it("has sandboxes wait until they are ready, and for no time", () => {
  expect(toStart({})).toEqual({});
  expect(toStart({ startCmd: "", readyCmd: null })).toEqual({});
  expect(toStart({ readyCmd: "sleep 20" })).toEqual({});
  const checked = { command: "serve", ready: "curl -s localhost" };
  expect(toStart({ startCmd: "serve", readyCmd: "curl -s localhost" })).toEqual({ start: checked, tryStart: checked });
  expect(toStart({ readyCmd: "test -e /x" })).toMatchObject({ start: { command: ":", ready: "test -e /x" } });
  expect(toStart({ startCmd: "serve", readyCmd: "sleep 5; test -e /x" })).toMatchObject({ start: { ready: "sleep 5; test -e /x" } });
  for (const [readyCmd, waits] of [
    ["sleep 20", "sleep 20"],
    [" sleep  0.5s ", "sleep 0"],
    ["sleep 86400", "sleep 60"],
  ] as const) {
    expect(toStart({ startCmd: "serve", readyCmd }), readyCmd).toEqual({
      start: { command: "serve" },
      tryStart: { command: "serve", ready: waits, readyTimeoutMs: 120_000 },
    });
  }
});
