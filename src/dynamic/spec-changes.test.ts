import { expect, it } from "vitest";
import { withChanges } from "./spec-changes.ts";
import type { UnitSpec } from "./unit.ts";

const SPEC: UnitSpec = {
  language: "python",
  code: "1",
  requirements: ["tiny"],
  sdist: true,
  network: { allow: ["pypi"] },
  secrets: { KEY: { secret: "key", hosts: ["example.com"] } },
  limits: { pids: 8, cpus: 1 },
  reuse: "session",
  timeoutMs: 5,
  tests: [{ arguments: {}, expect: { text: "1" } }],
};

it("keeps what is not given", () => {
  expect(withChanges(SPEC, {})).toEqual(SPEC);
  expect(withChanges(SPEC, { code: "2", timeoutMs: undefined })).toEqual({ ...SPEC, code: "2" });
});

it("clears what is null, and each limit by itself", () => {
  const { tests: _tests, network: _network, secrets: _secrets, timeoutMs: _timeoutMs, ...rest } = SPEC;
  expect(withChanges(SPEC, { tests: null, network: null, secrets: null, timeoutMs: null })).toEqual(rest);
  expect(withChanges(SPEC, { limits: { pids: 9, cpus: null } })).toEqual({ ...SPEC, limits: { pids: 9 } });
  const { limits: _limits, ...unlimited } = SPEC;
  expect(withChanges(SPEC, { limits: null })).toEqual(unlimited);
  expect(withChanges(SPEC, { limits: { pids: null, cpus: null } })).toEqual(unlimited);
});

it("asks another installer for no package that was another one's", () => {
  const { requirements: _requirements, sdist: _sdist, ...rest } = SPEC;
  expect(withChanges(SPEC, { language: "javascript" })).toEqual({ ...rest, language: "javascript" });
  expect(withChanges(SPEC, { language: "shell", requirements: null })).toEqual({ ...rest, language: "shell" });
  const given = withChanges({ ...SPEC, language: "javascript" }, { language: "typescript" });
  expect(given).toEqual({ ...SPEC, language: "typescript" });
});
