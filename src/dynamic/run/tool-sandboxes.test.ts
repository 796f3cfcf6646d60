import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { type CreateOptions, LOCAL, type Principal } from "../../sandbox/sandbox.ts";
import { ToolSandboxes } from "./tool-sandboxes.ts";

const BOB: Principal = { id: "token:bob", name: "bob", grants: {} };
const lock = { wish: "w", key: "k", installer: "pip", text: "t" } as const;

function use(principal: Principal, cause: Error): Promise<unknown> {
  const sandboxes = new ToolSandboxes({
    sandboxes: { create: () => expect.unreachable() },
    limits: {},
    packages: { snapshotOf: () => Promise.reject(cause) },
    owners: { of: async () => [] },
  });
  const wish = { owner: LOCAL.id, spec: {}, lock, timeoutMs: 1_000, signal: new AbortController().signal };
  return sandboxes.use(principal, { ...wish, work: () => expect.unreachable() });
}

it("names packages that cannot be had to their owner alone", async () => {
  const cause = new BelljarError("TOOL_DEPENDENCIES_FAILED", "inner-parser==2 from https://index.test");
  await expect(use(LOCAL, cause)).rejects.toBe(cause);
  await expect(use(BOB, cause)).rejects.toMatchObject({ code: "TOOL_FAILED", message: expect.not.stringMatching(/inner|index/), cause });
});

it("tells every caller of quotas, and of what nobody foresaw", async () => {
  for (const cause of [new BelljarError("QUOTA_EXCEEDED", "2 sandboxes"), new TypeError("a fault")])
    await expect(use(BOB, cause)).rejects.toBe(cause);
});

it("has a Python wait with packages that ran no code when they were installed, and for no session", async () => {
  const asked: CreateOptions["keepsReady"][] = [];
  const sandboxes = new ToolSandboxes({
    sandboxes: { create: async (_principal, { keepsReady }) => (asked.push(keepsReady), Promise.reject(new Error("asked"))) },
    limits: {},
    packages: { snapshotOf: async () => "snapshot" },
    owners: { of: async () => [] },
  });
  const wish = { owner: LOCAL.id, spec: {}, timeoutMs: 1_000, signal: new AbortController().signal, work: () => expect.unreachable() };
  const npm = { ...lock, installer: "npm" } as const;
  for (const more of [{ lock }, { lock: npm }, { lock: { ...lock, mayBuild: true } as const }, {}, { lock, session: "s" as never }])
    await expect(sandboxes.use(LOCAL, { ...wish, ...more })).rejects.toThrow("asked");
  expect(asked).toEqual(["python", "nothing", "nothing", undefined, undefined]);
});
