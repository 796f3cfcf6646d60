import { expect, it } from "vitest";
import { Instances } from "../instances.ts";
import type { ServerInstance } from "../server-instance.ts";
import { ListBudget, ListShare } from "./list-budget.ts";
import type { Listed } from "./list-server.ts";
import { keyOf } from "./relay-context.ts";
import { ServerLists } from "./server-lists.ts";

it("tells of the first that it leaves out of each list", async () => {
  const large = { name: "large", title: "x".repeat(600_000) };
  const tools = [large, { ...large, name: "larger" }, { name: "a" }];
  const request = async (method: string) => (method === "tools/list" ? { tools } : { prompts: [large] });
  const session = { capabilities: { tools: {}, prompts: {} }, request };
  const use = async (_key: string, _signal: AbortSignal, work: (instance: unknown) => Promise<void>): Promise<void> => work({ session });
  const instances = { use, keyOf: () => undefined } as unknown as Instances<ServerInstance>;
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  let resolve: (listed: Listed) => void = () => undefined;
  const promise = new Promise<Listed>((done) => (resolve = done));
  await using _lists = new ServerLists({
    key: "lists",
    name: "any",
    share: new ListShare(new ListBudget(), "any"),
    owner: "ann",
    instances,
    take: async (one) => resolve(one),
    report,
    stateChanged: () => undefined,
  });
  const listed = await promise;
  expect(listed).toMatchObject({ tools: [{ name: "a" }], prompts: [] });
  expect(problems).toEqual(
    ["tools", "prompts"].map((field): unknown => expect.stringMatching(new RegExp(`"any" lists .*"large".* its ${field} .* is left out`))),
  );
});

it("takes another caller's instance that tells of a change for a hint, and lists with one of the owner's that does", async () => {
  let opened = 0;
  const open = async (): Promise<ServerInstance> => {
    const tools = [{ name: `of instance ${(opened += 1)}` }];
    const session = { capabilities: { tools: {} }, request: async () => ({ tools }) };
    const ended = new Promise<void>(() => undefined);
    return { session, ended, [Symbol.asyncDispose]: async () => undefined } as unknown as ServerInstance;
  };
  await using instances = new Instances<ServerInstance>({ open, idleMs: 60_000, most: 5, owner: "ann", changed: () => undefined });
  const listed: unknown[] = [];
  let told: () => void = () => undefined;
  const next = (): Promise<void> => new Promise((resolve) => (told = resolve));
  const take = async ({ tools }: Listed): Promise<void> => (listed.push(tools[0]?.["name"]), told());
  const share = new ListShare(new ListBudget(), "any");
  const parts = { name: "any", share, key: "lists", owner: "ann", report: () => undefined, stateChanged: () => undefined };
  const first = next();
  await using lists = new ServerLists({ ...parts, instances, take });
  await first;
  const instanceOf = (id: string): Promise<ServerInstance> => {
    return instances.use(keyOf({ principal: { id, name: id } }), new AbortController().signal, async (one) => one);
  };
  const [bobs, anns] = [await instanceOf("bob"), await instanceOf("ann")];
  for (const teller of [bobs, anns, bobs]) {
    const again = next();
    lists.changedAt(teller);
    await again;
  }
  expect(listed).toEqual(["of instance 1", "of instance 1", "of instance 3", "of instance 3"]);
}, 30_000);
