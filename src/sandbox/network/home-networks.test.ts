import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRecordedEgress } from "../../../test/support/recorded-egress.ts";
import { sandboxRecord } from "../../../test/support/sandbox-record.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import { HomeNetworks, type HomeNetworksOptions } from "./home-networks.ts";

const ID = "a".repeat(20);
const record = sandboxRecord({ id: ID });
const NPM = { allow: ["npm"] };
/** Nothing here asks the guest: no traffic is read. */
const NO_GUEST = {} as Guest;

/** Any number of processes on one home. */
async function openHome() {
  const home = await mkdtemp(join(tmpdir(), "bj-networks-"));
  const problems: string[] = [];
  const opened: HomeNetworks[] = [];
  return {
    problems,
    open(more: Partial<HomeNetworksOptions> = {}) {
      const networks = new HomeNetworks({ home, report: (problem) => problems.push(problem), ...more });
      opened.push(networks);
      return networks;
    },
    async [Symbol.asyncDispose]() {
      for (const networks of opened) await networks[Symbol.asyncDispose]();
      await rm(home, { recursive: true });
    },
  };
}

it("serves what a sandbox begins with, and each change at once", async () => {
  await using home = await openHome();
  const egress = createRecordedEgress();
  const changed: string[] = [];
  const networks = home.open({ egress, changed: (id) => changed.push(id) });
  networks.hold(record, NO_GUEST, { policy: NPM, ceiling: NPM, links: [] });
  expect((await egress.told(({ kind }) => kind === "serve")).state).toMatchObject({ policy: NPM });
  await networks.change(record, (state) => ({ ...state, policy: "all" }));
  expect((await egress.told(({ state }) => state.policy === "all")).id).toBe(ID);
  expect(changed).toEqual([ID]);
});

it("hears of a change that another process made", async () => {
  await using home = await openHome();
  const egress = createRecordedEgress();
  const [one, other] = [home.open({ egress }), home.open()];
  one.hold(record, NO_GUEST, { policy: NPM, ceiling: NPM, links: [] });
  await other.change(record, (state) => ({ ...state, policy: "all" }));
  expect(await egress.told(({ state }) => state.policy === "all")).toMatchObject({ id: ID });
});

it("touches the networks that were ever more than none, and writes down no other", async () => {
  await using home = await openHome();
  const networks = home.open();
  await networks.touch(record);
  expect([await networks.isKept(record), await networks.ids()]).toEqual([false, []]);
  await networks.change(record, (state) => ({ ...state, policy: NPM }));
  await networks.touch(record);
  expect(await networks.read(record)).toMatchObject({ number: 2, state: { policy: NPM } });
  expect([await networks.isKept(record), await networks.ids()]).toEqual([true, [ID]]);
});

it("discovers the networks that are there and those that come, but for held ones", async () => {
  await using home = await openHome();
  const [other, server] = [home.open(), home.open()];
  await other.change(record, (state) => ({ ...state, policy: NPM }));
  const held = sandboxRecord({ id: "b".repeat(20) });
  await other.change(held, (state) => ({ ...state, policy: NPM }));
  server.hold(held, NO_GUEST);
  const found: string[] = [];
  let finish = (): void => undefined;
  const late = new Promise<void>((resolve) => (finish = resolve));
  expect(server.servesAll).toBe(false);
  await server.discover(async (id) => {
    found.push(id);
    if (id.startsWith("c")) finish();
  });
  expect([server.servesAll, found]).toEqual([true, [ID]]);
  await other.announce({ id: "c".repeat(20) }, { policy: NPM, ceiling: NPM, links: [] });
  await late;
  expect(new Set(found)).toEqual(new Set([ID, "c".repeat(20)]));
  await server[Symbol.asyncDispose]();
  expect(server.servesAll).toBe(false);
});

it("reports a network that cannot be followed, and follows the others", async () => {
  await using home = await openHome();
  const networks = home.open();
  await networks.change(record, (state) => ({ ...state, policy: NPM }));
  await networks.change(sandboxRecord({ id: "b".repeat(20) }), (state) => ({ ...state, policy: NPM }));
  const found: string[] = [];
  await home.open().discover(async (id) => {
    if (id === ID) throw new Error("no runtime");
    found.push(id);
  });
  expect(found).toEqual(["b".repeat(20)]);
  expect(home.problems).toEqual([`The network of sandbox ${ID} cannot be followed: Error: no runtime`]);
});

it("removes a state after the first one was written, whichever was asked first", async () => {
  await using home = await openHome();
  const networks = home.open();
  const written = networks.announce(record, { policy: NPM, ceiling: NPM, links: [] });
  await networks.remove(ID);
  await written;
  expect(await networks.ids()).toEqual([]);
});

it("opens the way out with the first policy that needs it, and has none without one", async () => {
  await using home = await openHome();
  let opened = 0;
  const networks = home.open({ egress: async () => ((opened += 1), createRecordedEgress()) });
  expect([await networks.check("none"), opened]).toEqual(["none", 0]);
  expect([await networks.check({ allow: ["npm"] }), opened]).toEqual([{ allow: ["npm"] }, 1]);
  await expect(networks.check({ allow: ["not a rule"] })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  const none = home.open();
  expect(await none.check("none")).toBe("none");
  await expect(none.check("all")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
});
