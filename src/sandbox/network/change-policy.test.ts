import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRecordedEgress } from "../../../test/support/recorded-egress.ts";
import { sandboxRecord } from "../../../test/support/sandbox-record.ts";
import { BelljarError } from "../../errors.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { Grants, Principal } from "../sandbox.ts";
import { changePolicy, type PolicyWish } from "./change-policy.ts";
import { HomeNetworks } from "./home-networks.ts";
import { readsTraffic, trustAuthority } from "./trust-authority.ts";

const BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
const NPM = { allow: ["npm"] };
const READ = { allow: ["GET https://a.example/path"] };
const forbidden = expect.objectContaining({ code: "FORBIDDEN" }) as Error;
const holder = (grants: Grants): Principal => ({ id: "token:ci", name: "ci", grants });

/** A guest of whose files root reads and writes these alone. */
function guestWith(files: Map<string, string>, failure?: BelljarError) {
  const written: unknown[] = [];
  const some: Partial<Guest["files"]> = {
    read: async (path) => {
      const text = files.get(String(path));
      if (failure) throw failure;
      if (text === undefined) throw new BelljarError("FILE_NOT_FOUND", String(path));
      return Buffer.from(text);
    },
    write: async (path, content, options) => {
      if (typeof content !== "string" && !Buffer.isBuffer(content)) throw new TypeError("It is written whole");
      files.set(String(path), content.toString());
      written.push([String(path), options?.user]);
      return undefined as never;
    },
  };
  return { guest: { files: some } as Partial<Guest> as Guest, written };
}

async function openHome(first: Partial<ReturnType<typeof sandboxRecord>> = {}) {
  const home = await mkdtemp(join(tmpdir(), "bj-policy-"));
  const record = sandboxRecord({ id: "a".repeat(20), ...first });
  const networks = new HomeNetworks({ home, egress: createRecordedEgress(), report: () => undefined });
  const files = new Map<string, string>();
  const { guest, written } = guestWith(files);
  return {
    written,
    change: (policy: NetworkPolicy, more: Partial<PolicyWish> = {}) =>
      changePolicy({ networks, record, guest }, { policy, capped: false, ...more }),
    state: async () => (await networks.read(record)).state,
    number: async () => (await networks.read(record)).number,
    async [Symbol.asyncDispose]() {
      await networks[Symbol.asyncDispose]();
      await rm(home, { recursive: true });
    },
  };
}

it("sets the policy and the most that a tool may set", async () => {
  await using home = await openHome();
  await home.change(NPM);
  expect(await home.state()).toMatchObject({ policy: NPM, ceiling: NPM });
  expect(home.written).toEqual([]);
});

it("lets a tool set what a person gave, and no more", async () => {
  await using home = await openHome({ network: NPM });
  await home.change("none", { capped: true });
  expect(await home.state()).toMatchObject({ policy: "none", ceiling: NPM });
  await home.change(NPM, { capped: true });
  await expect(home.change("all", { capped: true })).rejects.toThrow(forbidden);
  expect(await home.state()).toMatchObject({ policy: NPM, ceiling: NPM });
});

it("holds a token to its scopes, also where a person gave more", async () => {
  await using home = await openHome({ network: "all" });
  const principal = holder({ network: NPM });
  await expect(home.change("all", { principal })).rejects.toThrow(forbidden);
  await expect(home.change("all", { principal, capped: true })).rejects.toThrow(forbidden);
  expect(await home.number()).toBe(0);
  await home.change(NPM, { principal });
  expect(await home.state()).toMatchObject({ policy: NPM, inside: NPM });
});

it("forgets with a person's word what of an earlier one may lead inside", async () => {
  await using home = await openHome();
  await home.change(NPM, { principal: holder({ network: NPM }) });
  await home.change("all");
  expect(await home.state()).not.toHaveProperty("inside");
});

it("refuses a policy that is none, and changes nothing", async () => {
  await using home = await openHome();
  await expect(home.change({ allow: ["not a rule"] })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  expect(await home.number()).toBe(0);
});

it("makes programs trust the sandbox's own authority before it reads their traffic, once", async () => {
  await using home = await openHome();
  await home.change(READ);
  const { authority, policy } = await home.state();
  expect([policy, authority?.certificatePem]).toEqual([READ, expect.stringContaining("BEGIN CERTIFICATE")]);
  expect(home.written.length).toBeGreaterThan(0);
  expect(home.written).toContainEqual([BUNDLE, "root"]);
  const before = home.written.length;
  await home.change({ allow: ["GET https://b.example/path"] });
  expect((await home.state()).authority?.certificatePem).toBe(authority?.certificatePem);
  expect(home.written).toHaveLength(before);
});

it.each<readonly [NetworkPolicy, boolean]>([
  ["none", false],
  ["all", false],
  [{ allow: ["a.example"] }, false],
  [{ allow: ["https://a.example"] }, false],
  [{ allow: ["GET http://a.example"] }, false],
  [{ allow: ["http://a.example/path"] }, false],
  [{ allow: ["GET https://a.example"] }, true],
  [{ allow: ["https://a.example/path"] }, true],
  [{ allow: ["a.example", "https://b.example/path"] }, true],
])("reads encrypted traffic for %j: %s", async (policy, isRead) => {
  expect(await readsTraffic(policy)).toBe(isRead);
});

it("keeps what a sandbox trusts already, and passes on why its files cannot be read", async () => {
  const files = new Map([[BUNDLE, "ROOTS\n"]]);
  const { guest } = guestWith(files);
  const { signal } = new AbortController();
  await trustAuthority(guest, "OWN\n", signal);
  expect(files.get(BUNDLE)).toContain("ROOTS\n");
  expect(files.get(BUNDLE)).toContain("OWN");
  const ended = guestWith(files, new BelljarError("SANDBOX_ENDED", "over")).guest;
  await expect(trustAuthority(ended, "OWN\n", signal)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
});
