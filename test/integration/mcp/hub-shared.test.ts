import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CallClient } from "../../../src/catalog/question.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { openFarServer } from "../../support/far-server.ts";
import { type HubCallOptions, type HubLab, hubServer, openHubLab } from "../../support/hub-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

/** Servers with one instance for all of their callers. */

const CODE = readFileSync(join(import.meta.dirname, "../../fixtures/hub-relay-server.mjs"), "utf8");
const relayServer = (era: string): object => {
  return { command: "node", args: ["--input-type=module", "-e", CODE], env: { NAME: "one", ERA: era }, session: "shared" };
};
const token = (name: string): Principal => ({ id: `token:${name}`, name, grants: { servers: ["one"] } });
const [ANN, BOB] = [token("ann"), token("bob")];
const ERAS = ["legacy", "modern"] as const;

async function openLab(entry: object): Promise<HubLab> {
  const lab = await openHubLab({ one: entry });
  await lab.until(() => lab.names().length > 0);
  return lab;
}

/** A call that the server begins and does not answer, with what it is told meanwhile. */
async function hang(lab: HubLab, principal: Principal) {
  const controller = new AbortController();
  const told: unknown[] = [];
  let begun = (): void => undefined;
  const begins = new Promise<void>((resolve) => (begun = resolve));
  const progress = (one: unknown): void => (told.push(one), begun());
  const call = lab.call("mcp_one_hang", {}, { principal, clientId: principal.id, signal: controller.signal, progress });
  await begins;
  return {
    told,
    async cancel() {
      controller.abort();
      return call;
    },
  };
}

const says =
  (name: string): CallClient["ask"] =>
  async () => ({ action: "accept", content: { which: name } });
const as = (principal: Principal, more: HubCallOptions = {}): HubCallOptions => ({ principal, clientId: principal.id, ...more });
const asker = (principal: Principal) => ({ principal, clientId: principal.id, signal: AbortSignal.timeout(60_000) });

it("serves all callers by one instance, which lists too", async () => {
  await using lab = await openLab(hubServer({ session: "shared" }));
  const counts = [
    await lab.call("mcp_one_count", {}, { clientId: "a" }),
    await lab.call("mcp_one_count", {}, { clientId: "b" }),
    await lab.call("mcp_one_count"),
    await lab.call("mcp_one_count", {}, as(ANN)),
    await lab.call("mcp_one_count", {}, as(BOB)),
  ];
  expect(counts.map(textOf)).toEqual(["1", "2", "3", "4", "5"]);
  expect([lab.hub.servers(LOCAL)[0]?.instances, lab.liveSandboxes()]).toEqual([1, 1]);
  await expect(lab.call("mcp_one_count", {}, { principal: { id: "token:eve", name: "eve", grants: {} } })).rejects.toMatchObject({
    code: "TOOL_NOT_FOUND",
  });
}, 60_000);

it("gives each client an instance of its own where nothing is written", async () => {
  await using lab = await openLab(hubServer());
  expect([await lab.call("mcp_one_count", {}, as(ANN)), await lab.call("mcp_one_count", {}, as(BOB))].map(textOf)).toEqual(["1", "1"]);
}, 60_000);

describe.each(ERAS)("a shared server of the era %s", (era) => {
  it("tells each caller the progress of its own call, and ends one without the other", async () => {
    await using lab = await openLab(relayServer(era));
    const [ann, bob] = [await hang(lab, ANN), await hang(lab, BOB)];
    expect([ann.told, bob.told]).toEqual([[{ progress: 1, total: 2, message: "on" }], [{ progress: 1, total: 2, message: "on" }]]);
    expect(await ann.cancel()).toMatchObject({ value: { code: "CANCELLED" } });
    expect(textOf(await lab.call("mcp_one_cancelled", {}, as(BOB))), "Bob's goes on").toBe("1");
    await bob.cancel();
    expect(textOf(await lab.call("mcp_one_cancelled", {}, as(LOCAL)))).toBe("2");
    expect(lab.hub.servers(LOCAL)[0]?.instances).toBe(1);
  }, 60_000);

  it("asks the caller whose call it is", async () => {
    await using lab = await openLab(relayServer(era));
    for (const principal of [ANN, BOB, ANN])
      expect(textOf(await lab.call("mcp_one_ask", {}, as(principal, { ask: says(principal.name) })))).toContain(
        `"which":"${principal.name}"`,
      );
  }, 60_000);

  it("goes on telling who follows a resource when another one lets it go", async () => {
    await using lab = await openLab(relayServer(era));
    const { resources } = lab.doors;
    const told: string[] = [];
    resources.onUpdate((concerns, uri) => {
      for (const principal of [ANN, BOB]) if (concerns(principal)) told.push(`${principal.name} ${uri}`);
    });
    const [ann, bob] = [await resources.watch(asker(ANN), "only://one"), await resources.watch(asker(BOB), "only://one")];
    const touch = () => lab.call("mcp_one_touch", { uri: "only://one" }, as(LOCAL));
    await touch();
    expect(told.toSorted()).toEqual(["ann only://one", "bob only://one"]);
    ann[Symbol.dispose]();
    expect(JSON.parse(textOf(await touch()))).toEqual(["only://one"]);
    expect(told.slice(2)).toEqual(["bob only://one"]);
    bob[Symbol.dispose]();
    await lab.until(() => lab.hub.upstreamsOf(LOCAL)[0]?.listed.resources.some(({ uri }) => uri === "left://only://one") ?? false);
    expect(JSON.parse(textOf(await touch()))).toEqual([]);
    expect(told).toHaveLength(3);
  }, 60_000);
});

it("answers a server of the newer era that asks two callers at once", async () => {
  await using lab = await openLab(relayServer("modern"));
  let both = (): void => undefined;
  const asked = new Promise<void>((resolve) => (both = resolve));
  let open = 0;
  const waits =
    (name: string): CallClient["ask"] =>
    async (question, signal) => {
      if ((open += 1) === 2) both();
      await asked;
      return says(name)(question, signal);
    };
  const calls = [ANN, BOB].map((principal) => lab.call("mcp_one_ask", {}, as(principal, { ask: waits(principal.name) })));
  const [ann, bob] = (await Promise.all(calls)).map(textOf);
  expect([ann, bob]).toEqual([expect.stringContaining('"which":"ann"'), expect.stringContaining('"which":"bob"')]);
}, 60_000);

it("is started anew for all when it dies", async () => {
  await using lab = await openLab(hubServer({ session: "shared" }));
  expect(textOf(await lab.call("mcp_one_count", {}, as(ANN)))).toBe("1");
  await lab.call("mcp_one_die", {}, as(BOB));
  expect(textOf(await lab.call("mcp_one_count", {}, as(ANN)))).toBe("1");
  expect(textOf(await lab.call("mcp_one_count", {}, as(BOB)))).toBe("2");
  expect(lab.hub.servers(LOCAL)[0]?.instances).toBe(1);
}, 60_000);

it("shares the session of a server over HTTP", async () => {
  await using far = await openFarServer();
  await using lab = await openLab({ url: far.url, session: "shared" });
  const answers = await Promise.all(
    [ANN, BOB, LOCAL].map((principal) => lab.call("mcp_one_echo", { text: principal.name }, as(principal))),
  );
  expect(answers.map(textOf)).toEqual(["ann", "bob", LOCAL.name]);
  expect(lab.hub.servers(LOCAL)[0]?.instances).toBe(1);
}, 60_000);
