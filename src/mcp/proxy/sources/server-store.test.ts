import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createServersSeal } from "../../../secrets/seal-servers.ts";
import { isApproved, ServerStore, type StoredServer, withApproval, withoutServer, withServers } from "./server-store.ts";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "bj-store-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const openStore = (): ServerStore => new ServerStore(createServersSeal({ home }));
const entryOf = (command: string, more: Partial<StoredServer> = {}): StoredServer => ({ entry: { command }, origin: "network", ...more });
const add = (store: ServerStore, owner: string, name: string, one: StoredServer) =>
  store.change(owner, (servers) => withServers(servers, new Map([[name, one]])));
const ownFiles = (): readonly string[] => readdirSync(join(home, "servers")).filter((name) => /\.\d+\.json$/.test(name));

it("keeps each owner's servers apart, over a restart, for this user alone", async () => {
  await add(openStore(), "ann", "one", entryOf("sk-secret", { origin: "machine" }));
  await add(openStore(), "bob", "constructor", entryOf("b"));
  expect([...((await openStore().read("ann")) ?? [])]).toEqual([["one", entryOf("sk-secret", { origin: "machine" })]]);
  expect(await openStore().read("carl")).toBeUndefined();
  for (const file of ownFiles()) {
    const path = join(home, "servers", file);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).not.toContain("sk-secret");
  }
  expect(statSync(join(home, "servers")).mode & 0o777).toBe(0o700);
}, 20_000);

it("refuses a name such as __proto__, and loses no change of two at once", async () => {
  await expect(add(openStore(), "ann", "__proto__", entryOf("a"))).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await Promise.all(Array.from({ length: 8 }, (_, at) => add(openStore(), "ann", `s${at}`, entryOf("a"))));
  expect((await openStore().read("ann"))?.size).toBe(8);
});

it("bounds how many an owner has, and how large one is", async () => {
  const store = openStore();
  const many = new Map(Array.from({ length: 50 }, (_, at) => [`s${at}`, entryOf("a")] as const));
  await store.change("ann", (servers) => withServers(servers, many));
  await expect(add(store, "ann", "more", entryOf("a"))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  await add(store, "ann", "s0", entryOf("b"));
  await store.change("ann", (servers) => withoutServer(servers, "s1"));
  await add(store, "ann", "more", entryOf("a"));
  await expect(add(store, "ann", "s0", entryOf("x".repeat(262_144)))).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("approves exactly the entry that was looked at", () => {
  const servers = new Map([["one", entryOf("a")]]);
  const approved = withApproval(servers, "one").get("one");
  expect([isApproved(entryOf("a")), approved && isApproved(approved)]).toEqual([false, true]);
  expect(isApproved({ ...entryOf("b"), approved: approved?.approved })).toBe(false);
  expect(() => withApproval(servers, "one", "another")).toThrow(expect.objectContaining({ code: "MCP_SERVER_CHANGED" }));
  expect(withApproval(servers, "gone")).toBe(servers);
});

it("refuses a file that was changed, or is another owner's", async () => {
  const store = openStore();
  await add(store, "ann", "one", entryOf("a"));
  const [file = ""] = ownFiles();
  const path = join(home, "servers", file);
  writeFileSync(join(home, "servers", `${store.keyOf("bob")}.1.json`), readFileSync(path));
  await expect(store.read("bob")).rejects.toMatchObject({ code: "FILE_IO" });
  const sealed = JSON.parse(readFileSync(path, "utf8")) as { data: string };
  writeFileSync(path, JSON.stringify({ ...sealed, data: Buffer.from("{}").toString("base64") }));
  await expect(openStore().read("ann")).rejects.toMatchObject({ code: "FILE_IO" });
});

it("tells whoever watches of a change of another process", async () => {
  const store = openStore();
  let told = (_key: string): void => undefined;
  const changed = new Promise<string>((resolve) => (told = resolve));
  const watch = await store.watch({ changed: (key) => told(key), failed: () => undefined });
  await add(openStore(), "ann", "one", entryOf("a"));
  expect(await changed).toBe(store.keyOf("ann"));
  watch.close();
});
