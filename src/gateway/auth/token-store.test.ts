import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTokenStore } from "./token-store.ts";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "bj-tokens-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

function files(): readonly string[] {
  return readdirSync(join(home, "tokens")).map((name) => join(home, "tokens", name));
}

describe("the token store", () => {
  it("knows the holder of a token that it made, in another process too", async () => {
    const { token } = await createTokenStore(home).create("ci", []);
    expect(await createTokenStore(home).find(token)).toEqual({ id: "token:ci", name: "ci", grants: {} });
  });

  it("gives tokens of one name one owner", async () => {
    const store = createTokenStore(home);
    const [one, other] = [await store.create("ci", []), await store.create("ci", ["read-only"])];
    expect(one.token).not.toBe(other.token);
    expect((await store.find(one.token))?.id).toBe((await store.find(other.token))?.id);
  });

  it("stores nothing that lets anybody in, and for the owner alone", async () => {
    const { token } = await createTokenStore(home).create("ci", []);
    const secret = token.replace(/^belljar_[a-z0-9]+_/, "");
    const [path = ""] = files();
    expect(readFileSync(path, "utf8")).not.toContain(secret.slice(0, 8));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(files()).toHaveLength(1);
  });

  it("knows no other token", async () => {
    const store = createTokenStore(home);
    const { id, token } = await store.create("ci", []);
    const wrong = `belljar_${id}_${"A".repeat(43)}`;
    for (const text of ["", "x", wrong, token.slice(0, -1), `${token}A`, token.toUpperCase(), `belljar_../../../etc_${"A".repeat(43)}`]) {
      expect(await store.find(text)).toBeUndefined();
    }
  });

  it("lets nobody in with one that has expired, and tells when it does", async () => {
    const store = createTokenStore(home);
    const soon = await store.create("ci", [], { expiresAt: new Date(Date.now() + 3_600_000) });
    const over = await store.create("ci", [], { expiresAt: new Date(Date.now() - 1) });
    expect(await store.find(soon.token)).toMatchObject({ name: "ci" });
    expect(await store.find(over.token)).toBeUndefined();
    const listed = await store.list();
    expect(listed.map(({ id }) => id).toSorted()).toEqual([soon.id, over.id].toSorted());
    expect(listed.every(({ expiresAt }) => expiresAt instanceof Date)).toBe(true);
    expect(readFileSync(join(home, "tokens", `${soon.id}.json`), "utf8")).toContain('"version":2');
  });

  it("tells what the valid tokens of one owner grant", async () => {
    const store = createTokenStore(home);
    await store.create("ci", ["read-only"]);
    const other = await store.create("ci", ["network:none"]);
    await store.create("ci", [], { expiresAt: new Date(Date.now() - 1) });
    await store.create("else", []);
    const granted = await store.grantsOf("token:ci");
    expect(granted).toHaveLength(2);
    expect(granted).toEqual(expect.arrayContaining([{ readOnly: true }, { network: "none" }]));
    await createTokenStore(home).revoke(other.id);
    const path = join(home, "tokens", `${other.id}.json`);
    const unknown = { version: 1, id: other.id, name: "ci", sha256: "0".repeat(64), scopes: ["of-tomorrow"], createdAt: new Date() };
    writeFileSync(path, JSON.stringify(unknown));
    expect(await store.grantsOf("token:ci"), "one with a scope that nobody knows grants nothing").toEqual([{ readOnly: true }]);
    expect(await store.grantsOf("ci")).toEqual([]);
  });

  it("makes none with an end that its file cannot hold", async () => {
    const store = createTokenStore(home);
    for (const end of [new Date(Date.UTC(10_000, 0)), new Date(Number.NaN)])
      await expect(store.create("ci", [], { expiresAt: end })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    const { token } = await store.create("ci", [], { expiresAt: new Date("9999-12-31T00:00:00Z") });
    expect(await store.find(token)).toMatchObject({ name: "ci" });
    expect(await store.list()).toHaveLength(1);
  });

  it("forgets a revoked one at once, in every process", async () => {
    const [store, other] = [createTokenStore(home), createTokenStore(home)];
    const { id, token } = await store.create("ci", []);
    expect(await other.find(token)).toBeDefined();
    await store.revoke(id);
    expect(await other.find(token)).toBeUndefined();
    await expect(store.revoke(id)).rejects.toMatchObject({ code: "TOKEN_NOT_FOUND" });
    await expect(store.revoke("../tokens")).rejects.toMatchObject({ code: "TOKEN_NOT_FOUND" });
  });

  it("lets nobody in by a file that is no token", async () => {
    const store = createTokenStore(home);
    const { token } = await store.create("ci", []);
    for (const text of ["", "{}", "null", readFileSync(files()[0] ?? "", "utf8").replace('"version":1', '"version":2')]) {
      writeFileSync(files()[0] ?? "", text);
      expect(await store.find(token)).toBeUndefined();
    }
    expect(await store.list()).toEqual([]);
  });

  it("lists what it knows without secrets", async () => {
    const store = createTokenStore(home);
    const { id, token } = await store.create("ci", ["toolset:files", "read-only"]);
    const listed = await store.list();
    expect(listed).toMatchObject([{ id, name: "ci", scopes: ["toolset:files", "read-only"] }]);
    expect(JSON.stringify(listed)).not.toContain(token.slice(20));
  });

  it("lists the oldest first, and nothing that is no token's file", async () => {
    const store = createTokenStore(home);
    expect(await store.list()).toEqual([]);
    const made = [];
    for (const name of ["a", "b", "c", "d"]) made.push(await store.create(name, []));
    for (const [index, { id }] of made.entries()) {
      const path = join(home, "tokens", `${id}.json`);
      const created = `"createdAt":"2026-01-0${9 - index}T00:00:00.000Z"`;
      writeFileSync(path, readFileSync(path, "utf8").replace(/"createdAt":"[^"]+"/, created));
    }
    for (const name of ["x.json", `${made[0]?.id}.json.old`, `A${made[0]?.id.slice(1)}.json`])
      writeFileSync(join(home, "tokens", name), readFileSync(join(home, "tokens", `${made[0]?.id}.json`)));
    expect((await store.list()).map(({ name }) => name)).toEqual(["d", "c", "b", "a"]);
  });

  it.each([
    ["another version", { version: 3 }],
    ["an end though its version has none", { expiresAt: "2999-01-01T00:00:00.000Z" }],
    ["a name that cannot be", { name: "a/b" }],
    ["an id that cannot be", { id: "../../x" }],
    ["a digest that is none", { sha256: "00" }],
    ["scopes that are no list", { scopes: "read-only" }],
    ["no time", { createdAt: "yesterday" }],
  ])("lets nobody in by a file with %s", async (_what, changed) => {
    const store = createTokenStore(home);
    const { token } = await store.create("ci", []);
    const [path = ""] = files();
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), ...changed }));
    expect(await store.find(token)).toBeUndefined();
    expect(await store.list()).toEqual([]);
  });

  it("makes tokens of one form, with a name of 63 characters at most", async () => {
    const { id, token } = await createTokenStore(home).create("a".repeat(63), []);
    expect(token).toMatch(new RegExp(`^belljar_${id}_[A-Za-z0-9_-]{43}$`));
    expect(id).toMatch(/^[a-z0-9]{10}$/);
    expect(statSync(join(home, "tokens")).mode & 0o777).toBe(0o700);
  });

  it("refuses names and scopes that cannot be", async () => {
    const store = createTokenStore(home);
    for (const name of ["", "A", "a/b", "-a", "a".repeat(64)]) {
      await expect(store.create(name, [])).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    }
    for (const scope of ["", "root", "toolset", "read-only:x", "memory:much", "sandboxes:0", "__proto__", "toolset:../x"]) {
      await expect(store.create("ci", [scope])).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    }
  });
});
