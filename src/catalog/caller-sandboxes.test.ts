import { expect, it } from "vitest";
import { LOCAL, type Principal, type Sandbox, type SandboxInfo } from "../sandbox/sandbox.ts";
import { CallerSandboxes, type CallerSandboxesOptions } from "./caller-sandboxes.ts";
import { tellLoss } from "./loss.ts";
import type { CallClient } from "./question.ts";

const { signal } = new AbortController();
const OTHER: Principal = { id: "token:ci", name: "ci" };
const client = (id: string) => ({ client: { id } as CallClient });

const refuse = () => Promise.reject(new Error("not asked"));

/** A home whose default sandbox a test names, with what else is told of it. */
function open(more: Partial<CallerSandboxesOptions> = {}) {
  const now = { id: "first", more: {} as { readonly earlier?: string; readonly unmet?: readonly string[] } };
  const infos = new Map<string, SandboxInfo>();
  const sandboxes = new CallerSandboxes({
    sandboxes: {
      default: async () => ({ sandbox: { id: now.id } as Sandbox, created: false, ...now.more }),
      get: refuse,
      getStarted: refuse,
      info: async (_principal, id) => infos.get(id) ?? Promise.reject(new Error("forgotten")),
    },
    defaultSandbox: (_principal, { defaultName = "default" }) => ({ name: defaultName, options: {} }),
    ...more,
  });
  const resolve = async (principal: Principal = LOCAL, caller = {}) => (await sandboxes.resolve(principal, caller, signal)).notices;
  return { now, infos, resolve };
}

it("says what a model must know of a sandbox once", async () => {
  const { now, resolve } = open({ surroundings: { introduce: async ({ id }) => [`in ${id}`], findHostHint: async () => undefined } });
  now.more = { unmet: ["memory of 1 MiB", "CPU cores: 2"] };
  expect(await resolve()).toEqual(["Note: memory of 1 MiB", "Note: CPU cores: 2", "in first"]);
  expect(await resolve()).toEqual([]);
});

it("says it once to each client, owner and name of a sandbox", async () => {
  const { resolve } = open({ surroundings: { introduce: async () => ["new"], findHostHint: async () => undefined } });
  for (const [principal, caller] of [
    [LOCAL, {}],
    [LOCAL, client("a")],
    [LOCAL, client("b")],
    [OTHER, client("a")],
    [LOCAL, { ...client("a"), defaultName: "second" }],
  ] as const) {
    expect(await resolve(principal, caller)).toEqual(["new"]);
    expect(await resolve(principal, caller)).toEqual([]);
  }
});

it("says what is lost with the sandbox that a caller used before, or that was before the first", async () => {
  const { now, infos, resolve } = open();
  infos.set("first", { endReason: "deadline", endedAt: new Date(0) } as SandboxInfo);
  now.more = { earlier: "forgotten" };
  expect(await resolve()).toEqual([tellLoss(undefined)]);
  now.id = "second";
  expect(await resolve()).toEqual([tellLoss(infos.get("first"))]);
  expect(await resolve()).toEqual([]);
});
