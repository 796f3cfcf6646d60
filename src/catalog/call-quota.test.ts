import { describe, expect, it } from "vitest";
import type { Principal, Quotas } from "../sandbox/sandbox.ts";
import { createCallQuota } from "./call-quota.ts";
import type { Tool } from "./tool.ts";

const TOOL = {} as Tool;
const somebody = (quotas?: Quotas, id = "token:ci"): Principal => ({ id, name: id, ...(quotas && { grants: { quotas } }) });

function openQuota(defaults?: Quotas) {
  let nowMs = 1_000_000_000;
  const quota = createCallQuota({ now: () => nowMs, ...(defaults && { defaults }) });
  const call = async (principal: Principal, bytes = 0) => (await quota.enter(principal, TOOL)).count(bytes);
  return { call, pass: (ms: number) => (nowMs += ms) };
}

describe("calls in a minute", () => {
  it("lets so many in and says when there is room again", async () => {
    const { call, pass } = openQuota();
    const one = somebody({ callsPerMinute: 2 });
    await call(one);
    pass(30_000);
    await call(one);
    await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", message: expect.stringMatching(/2 calls.* in 30 s$/) });
    pass(30_000);
    await call(one);
    await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  });

  it("counts each principal by itself", async () => {
    const { call } = openQuota({ callsPerMinute: 1 });
    await call(somebody());
    await call(somebody(undefined, "token:other"));
    await expect(call(somebody())).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  });

  it("takes the token's own quota before the default one", async () => {
    const { call } = openQuota({ callsPerMinute: 1 });
    const one = somebody({ callsPerMinute: 3 });
    for (const _ of [1, 2, 3]) await call(one);
    await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  });

  it("has forgotten everything after a long rest", async () => {
    const { call, pass } = openQuota();
    const one = somebody({ callsPerMinute: 1 });
    await call(one);
    pass(86_400_000);
    await call(one);
  });
});

it("counts the bytes of results, and refuses once they are used up", async () => {
  const { call, pass } = openQuota();
  const one = somebody({ outputBytesPerMinute: 100 });
  await call(one, 99);
  await call(one, 5_000);
  await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", message: expect.stringContaining("100 bytes") });
  pass(60_000);
  await call(one);
});

it("goes on counting somebody when many others have come", async () => {
  const { call } = openQuota();
  const one = somebody({ callsPerMinute: 1 });
  await call(one);
  for (let index = 0; index < 3_000; index += 1) await call({ ...one, id: `other-${index}` });
  await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
});

it("counts nothing where there is no quota", async () => {
  const { call } = openQuota();
  for (let i = 0; i < 1000; i += 1) await call(somebody(), 1e9);
});

it.each([
  [1, 0, 60],
  [1, 1, 60],
  [1, 4_999, 56],
  [2, 5_000, 60],
])("says when the first of its parts is over: %i calls, after %i ms", async (calls, afterMs, seconds) => {
  const { call, pass } = openQuota();
  const one = somebody({ callsPerMinute: calls });
  pass(afterMs);
  for (let count = 0; count < calls; count += 1) await call(one);
  const { message } = await call(one).then(
    () => ({ message: "" }),
    (error: Error) => error,
  );
  expect(message).toMatch(new RegExp(`in ${seconds} s$`));
});

it("gives room for what is a minute old, part by part", async () => {
  const { call, pass } = openQuota();
  const one = somebody({ callsPerMinute: 3 });
  for (const ms of [0, 5_000, 5_000]) {
    pass(ms);
    await call(one);
  }
  pass(49_999);
  await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", retryAfterMs: 1 });
  for (const ms of [1, 5_000, 5_000]) {
    pass(ms);
    await call(one);
    await expect(call(one)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  }
});
