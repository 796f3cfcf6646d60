import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Grants } from "../../sandbox/sandbox.ts";
import { createOwnerKeys } from "./owner-keys.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function openKeys(grants: readonly Grants[]) {
  const asked: string[] = [];
  const held = { grants, asked };
  const keys = createOwnerKeys({
    grantsOf: async (owner) => {
      asked.push(owner);
      return held.grants;
    },
  });
  return Object.assign(held, { keys });
}

it("counts the keys that open E2B's surfaces and may change something", async () => {
  const key: Grants = { surfaces: ["e2b"] };
  const { keys } = openKeys([{}, { surfaces: ["belljar"] }, { surfaces: ["e2b"], readOnly: true }, key]);
  expect(await keys.of("token:agent")).toEqual([key]);
});

it("asks again after two seconds, so that what a revoked key has opened is closed", async () => {
  const held = openKeys([{ surfaces: ["e2b"] }]);
  expect(await held.keys.of("token:agent")).toHaveLength(1);
  held.grants = [];
  expect(await held.keys.of("token:agent")).toHaveLength(1);
  vi.advanceTimersByTime(2_001);
  expect(await held.keys.of("token:agent")).toEqual([]);
  expect(held.asked).toHaveLength(2);
});

it("remembers no failure", async () => {
  const failures = [new Error("EMFILE")];
  const keys = createOwnerKeys({ grantsOf: async () => (failures.length > 0 ? Promise.reject(failures.pop() as Error) : []) });
  await expect(keys.of("token:agent")).rejects.toThrow("EMFILE");
  expect(await keys.of("token:agent")).toEqual([]);
});
