import { expect, it } from "vitest";
import { LOCAL, type Principal, type Sandbox, type SandboxInfo } from "../sandbox/sandbox.ts";
import { CallerSandboxes, type CallerSandboxesOptions } from "./caller-sandboxes.ts";
import { tellLoss, tellStop } from "./loss.ts";
import type { CallClient } from "./question.ts";

const { signal } = new AbortController();
const OTHER: Principal = { id: "token:ci", name: "ci" };
const client = (id: string) => ({ client: { id } as CallClient });

const STOP = { reason: "deadline", at: new Date(0) } as const;
const refuse = () => Promise.reject(new Error("not asked"));

/** A home whose default sandbox a test names, with what else is told of it. */
function open(more: Partial<CallerSandboxesOptions> = {}) {
  const now = {
    id: "first",
    generation: 1,
    more: {} as { readonly earlier?: string; readonly unmet?: readonly string[]; readonly started?: true },
    sandbox: () => ({ id: now.id, generation: now.generation, lastStop: async () => (now.generation > 1 ? STOP : undefined) }) as Sandbox,
  };
  const infos = new Map<string, SandboxInfo>();
  const sandboxes = new CallerSandboxes({
    sandboxes: {
      default: async () => ({ sandbox: now.sandbox(), created: false, ...now.more }),
      get: refuse,
      getStarted: async () => ({ sandbox: now.sandbox(), ...(now.more.started && { stopped: STOP }) }),
      info: async (_principal, id) => infos.get(id) ?? Promise.reject(new Error("forgotten")),
    },
    defaultSandbox: (_principal, { defaultName = "default" }) => ({ name: defaultName, options: {} }),
    ...more,
  });
  const resolve = async (principal: Principal = LOCAL, caller = {}) => (await sandboxes.resolve(principal, caller, signal)).notices;
  const find = async (caller = {}) => (await sandboxes.find(LOCAL, "first", { ...caller, signal })).notices;
  return { now, infos, resolve, find };
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

it("says once to each client that a sandbox was stopped and runs again, whoever started it", async () => {
  const { now, resolve, find } = open();
  const [a, b, c] = ["a", "b", "c"].map(client);
  for (const one of [a, b]) expect(await resolve(LOCAL, one)).toEqual([]);
  now.generation = 2;
  now.more = { started: true };
  expect(await resolve(LOCAL, a)).toEqual([tellStop(STOP)]);
  now.more = {};
  expect(await resolve(LOCAL, a)).toEqual([]);
  expect(await find(a)).toEqual([]);
  expect(await find(b)).toEqual([tellStop(STOP)]);
  expect(await resolve(LOCAL, b)).toEqual([]);
  expect(await resolve(LOCAL, c)).toEqual([]);
});

it("says it of a sandbox that a call names and that it started", async () => {
  const { now, find } = open();
  now.generation = 2;
  now.more = { started: true };
  expect(await find(client("a"))).toEqual([tellStop(STOP)]);
  expect(await find(client("a"))).toEqual([]);
});
