import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sandboxRecord } from "../../../test/support/sandbox-record.ts";
import type { PortLink } from "../../network/ports/port-link.ts";
import { HomeNetworks } from "./home-networks.ts";
import { registerLink, removeLink } from "./port-links.ts";

const record = sandboxRecord({ id: "a".repeat(20) });
const LATER = new Date(Date.now() + 3_600_000);
const PAST = new Date(1);

async function openHome() {
  const home = await mkdtemp(join(tmpdir(), "bj-links-"));
  const changed: string[] = [];
  const networks = new HomeNetworks({ home, report: () => undefined, changed: (id) => changed.push(id) });
  return {
    networks,
    register: (port: number, access: PortLink["access"] = "public", expiresAt?: Date) =>
      registerLink(networks, record, { port, access, ...(expiresAt && { expiresAt }) }),
    remove: (port: number) => removeLink(networks, record, port),
    links: async () => (await networks.read(record)).state.links,
    number: async () => (await networks.read(record)).number,
    async [Symbol.asyncDispose]() {
      await networks[Symbol.asyncDispose]();
      await rm(home, { recursive: true });
    },
  };
}

it("gives the same link again, and writes nothing for it", async () => {
  await using home = await openHome();
  const first = await home.register(80);
  expect(await home.register(80)).toEqual(first);
  expect([await home.links(), await home.number()]).toEqual([[first], 1]);
});

it("gives a link another time, and a port another access with another link", async () => {
  await using home = await openHome();
  const first = await home.register(80);
  expect(await home.register(80, "public", LATER)).toEqual({ ...first, expiresAt: LATER });
  const second = await home.register(80, "token");
  expect(second).toMatchObject({ port: 80, access: "token" });
  expect(second).not.toHaveProperty("expiresAt");
  expect(await home.links()).toEqual([second]);
});

it("keeps one link for each port, and drops those whose time is over", async () => {
  await using home = await openHome();
  const first = await home.register(80);
  await home.register(81, "public", PAST);
  const third = await home.register(82);
  expect(await home.links()).toEqual([first, third]);
});

it("keeps a thousand links", async () => {
  await using home = await openHome();
  const first = await home.register(80);
  const links = Array.from({ length: 1_000 }, (_, index) => ({ ...first, port: index + 1 }));
  await home.networks.change(record, (state) => ({ ...state, links }));
  await expect(home.register(1_001)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect((await home.register(7, "token")).access).toBe("token");
  await home.remove(8);
  expect((await home.register(1_001)).port).toBe(1_001);
});

it("says whether there was a link to remove", async () => {
  await using home = await openHome();
  expect([await home.remove(80), await home.number()]).toEqual([false, 0]);
  const other = await home.register(81);
  await home.register(80);
  expect([await home.remove(80), await home.remove(80)]).toEqual([true, false]);
  expect(await home.links()).toEqual([other]);
  await home.register(82, "public", PAST);
  expect(await home.remove(82)).toBe(false);
  expect(await home.links()).toEqual([other]);
});
