import { createCipheriv, createHash, randomBytes } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createMemoryKeyring } from "../../test/support/memory-keyring.ts";
import { createSecretStore, createSettingsStore } from "./create-secret-store.ts";
import type { Keyring } from "../files/keyring.ts";
import type { SecretStore } from "./secret-store.ts";

const VALUE = "sk-planted-0123456789abcdef";

interface TestHome extends AsyncDisposable {
  readonly home: string;
  readonly store: SecretStore;
  /** Every file below the home, with its content. */
  files(): Promise<ReadonlyMap<string, string>>;
}

async function openHome(keyring?: Keyring): Promise<TestHome> {
  const home = await mkdtemp(join(tmpdir(), "belljar-secrets-"));
  return {
    home,
    store: createSecretStore({ home, keyring }),
    async files() {
      const found = await readdir(home, { recursive: true, withFileTypes: true });
      const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path, "utf8")] as const)));
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

const failsWith = (code: string, message: RegExp = /./) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string });

it("reveals a secret to its owner only", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  await home.store.set("other", "openai", "another");
  expect(await home.store.reveal("local", "openai")).toBe(VALUE);
  expect(await home.store.reveal("other", "openai")).toBe("another");
  expect(await home.store.reveal("third", "openai")).toBeUndefined();
});

it("stores no value in readable form", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  const texts = [...(await home.files()).values()].join("\n");
  for (const form of [VALUE, Buffer.from(VALUE).toString("base64"), Buffer.from(VALUE).toString("hex")]) expect(texts).not.toContain(form);
});

it("makes files that only this user can read, and leaves no unfinished file", async () => {
  await using home = await openHome();
  await Promise.all(["a", "b", "c"].map((name) => home.store.set("local", name, VALUE)));
  const modes = await Promise.all([...(await home.files()).keys()].map(async (path) => (await stat(path)).mode & 0o777));
  expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
  expect((await stat(join(home.home, "secrets"))).mode & 0o777).toBe(0o700);
});

it("lists names and dates, replaces and removes", async () => {
  await using home = await openHome();
  await home.store.set("local", "b", VALUE);
  await home.store.set("local", "a", "old-value");
  await home.store.set("local", "a", "new-value");
  const listed = await home.store.list("local");
  expect(listed.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(Object.keys(listed[0] ?? {})).toEqual(["name", "changedAt"]);
  expect(await home.store.reveal("local", "a")).toBe("new-value");
  await home.store.remove("local", "a");
  expect(await home.store.reveal("local", "a")).toBeUndefined();
  await expect(home.store.remove("local", "a")).rejects.toThrow(failsWith("SECRET_NOT_FOUND") as Error);
});

it("is empty in a home without secrets, and creates nothing there", async () => {
  await using home = await openHome();
  expect(await home.store.list("local")).toEqual([]);
  expect(await home.store.reveal("local", "openai")).toBeUndefined();
  expect(await readdir(home.home)).toEqual([]);
});

it("agrees on one key when several processes create the first secrets at once", async () => {
  await using home = await openHome();
  const stores = Array.from({ length: 8 }, () => createSecretStore({ home: home.home }));
  await Promise.all(stores.map((store, index) => store.set("local", `name-${index}`, `value-${index}`)));
  const revealed = await Promise.all(stores.map((_, index) => home.store.reveal("local", `name-${index}`)));
  expect(revealed).toEqual(stores.map((_, index) => `value-${index}`));
});

it("sees the changes of another process", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", "first");
  expect(await home.store.reveal("local", "openai")).toBe("first");
  await rm(join(home.home, "secrets"), { recursive: true });
  await createSecretStore({ home: home.home }).set("local", "openai", "second");
  expect(await home.store.reveal("local", "openai")).toBe("second");
});

it.each(["", ".hidden", "../up", "a/b", "a b", "é", "a".repeat(65), "a\n"])("refuses the name %j", async (name) => {
  await using home = await openHome();
  await expect(home.store.set("local", name, VALUE)).rejects.toThrow(failsWith("ARGUMENTS_INVALID") as Error);
  expect(await home.store.reveal("local", name)).toBeUndefined();
});

it.each([
  ["empty", "", /empty/],
  ["of two lines", "secret\nvalue", /control characters/],
  ["with a NUL", "secret\0value", /control characters/],
  ["with a tab", "secret\tvalue", /control characters/],
  ["with a space at its end", "secretvalue ", /space/],
  ["of 65,537 bytes", "x".repeat(65_537), /at most 65536/],
  ["with half a character", "secretvalue\ud800", /Unicode/],
])("refuses a value %s without repeating it", async (_what, value, message) => {
  await using home = await openHome();
  const failure = await home.store.set("local", "openai", value).catch((error: unknown) => error);
  expect(failure).toEqual(failsWith("ARGUMENTS_INVALID", message));
  expect(String(failure)).not.toMatch(/secretvalue|secret.value|xxx/);
});

it("accepts a value of 65,536 bytes and of any script", async () => {
  await using home = await openHome();
  for (const value of ["x".repeat(65_536), "pässwört-日本"]) {
    await home.store.set("local", "openai", value);
    expect(await home.store.reveal("local", "openai")).toBe(value);
  }
});

it("does not open a file that was moved to another name", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  const path = [...(await home.files()).keys()].find((one) => one.endsWith("openai.json")) ?? "";
  await copyFile(path, path.replace("openai", "github"));
  await expect(home.store.reveal("local", "github")).rejects.toThrow(failsWith("FILE_IO", /damaged.*secret set/) as Error);
});

it.each(["", "{}", '{"key":1}', "x"])("says how to go on when a secret's file holds %j", async (content) => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  const path = [...(await home.files()).keys()].find((one) => one.endsWith("openai.json")) ?? "";
  await writeFile(path, content);
  await expect(home.store.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /damaged.*secret set/) as Error);
});

it("says how to go on when the key is replaced, missing or damaged", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  const key = join(home.home, "secrets/key.json");
  await rm(key);
  const fresh = createSecretStore({ home: home.home });
  await expect(fresh.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /another key.*secret set openai/) as Error);
  await fresh.set("local", "github", VALUE);
  await expect(fresh.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /another key.*secret set openai/) as Error);
  await writeFile(key, "nonsense");
  const next = createSecretStore({ home: home.home });
  await expect(next.reveal("local", "github")).rejects.toThrow(failsWith("FILE_IO", /damaged/) as Error);
});

it("refuses a key and a folder that other users can read", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  await chmod(join(home.home, "secrets/key.json"), 0o644);
  const fresh = createSecretStore({ home: home.home });
  await expect(fresh.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /chmod 600/) as Error);
  await chmod(join(home.home, "secrets"), 0o755);
  await expect(fresh.set("local", "openai", VALUE)).rejects.toThrow(failsWith("FILE_IO", /chmod 700/) as Error);
});

it("keeps the key only in the keyring if there is one", async () => {
  const keyring = createMemoryKeyring();
  await using home = await openHome(keyring);
  await Promise.all(["a", "b", "c"].map((name) => createSecretStore({ home: home.home, keyring }).set("local", name, VALUE)));
  expect(keyring.keys.size).toBe(1);
  expect([...(await home.files()).values()].join("\n")).not.toContain([...keyring.keys.values()][0]);
  expect(await createSecretStore({ home: home.home, keyring }).reveal("local", "b")).toBe(VALUE);
});

it("says how to go on when the keyring has lost the key", async () => {
  const keyring = createMemoryKeyring();
  await using home = await openHome(keyring);
  await home.store.set("local", "openai", VALUE);
  keyring.keys.clear();
  const fresh = createSecretStore({ home: home.home, keyring });
  await expect(fresh.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /keyring.*unlock/) as Error);
});

it("keeps the key in a file when the keyring accepts it and does not return it", async () => {
  await using home = await openHome({ store: async () => true, lookup: async () => undefined, clear: async () => undefined });
  await home.store.set("local", "openai", VALUE);
  expect(await createSecretStore({ home: home.home }).reveal("local", "openai")).toBe(VALUE);
});

it("encrypts settings with a key of their own, which decrypts no secret", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bj-settings-"));
  try {
    const [secrets, settings] = [createSecretStore({ home: folder }), createSettingsStore({ home: folder })];
    await secrets.set("local", "tool-server", "a-secret");
    await settings.set("local", "tool-server", "a-setting");
    expect(await secrets.reveal("local", "tool-server")).toBe("a-secret");
    expect(await settings.reveal("local", "tool-server")).toBe("a-setting");
    const [file = ""] = (await readdir(join(folder, "secrets"), { recursive: true })).filter((name) => name.endsWith("tool-server.json"));
    await copyFile(join(folder, "secrets", file), join(folder, "settings", file));
    await expect(settings.reveal("local", "tool-server")).rejects.toThrow(/another key.*send it to the server again/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** The folder of an owner's secrets. */
function folderOf(home: string, owner = "local"): string {
  return join(home, "secrets", createHash("sha256").update(owner).digest("hex").slice(0, 32));
}

it("reads a file as it was always written: AES-256-GCM, bound to its owner and name", async () => {
  await using home = await openHome();
  const [key, iv] = [randomBytes(32), randomBytes(12)];
  await mkdir(folderOf(home.home), { recursive: true, mode: 0o700 });
  await chmod(join(home.home, "secrets"), 0o700);
  const keyFile = { version: 1, id: "k".repeat(32), key: key.toString("base64") };
  await writeFile(join(home.home, "secrets/key.json"), JSON.stringify(keyFile), { mode: 0o600 });
  const seal = (bound: readonly unknown[]) => {
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(JSON.stringify(bound)));
    const data = Buffer.concat([cipher.update("pässword"), cipher.final()]).toString("base64");
    return JSON.stringify({ version: 1, key: keyFile.id, iv: iv.toString("base64"), tag: cipher.getAuthTag().toString("base64"), data });
  };
  const write = (bound: readonly unknown[]) => writeFile(join(folderOf(home.home), "openai.json"), seal(bound), { mode: 0o600 });
  await write(["belljar-secret", 1, "local", "openai"]);
  expect(await home.store.reveal("local", "openai")).toBe("pässword");
  for (const bound of [["belljar-setting", 1, "local", "openai"], ["belljar-secret", 1, "other", "openai"], []]) {
    await write(bound);
    await expect(home.store.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /damaged/) as Error);
  }
});

it.each(["iv", "tag", "data", "key"])("says how to go on when a secret's file has no %s, or a number there", async (field) => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  const path = join(folderOf(home.home), "openai.json");
  const whole = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
  for (const value of [undefined, 7]) {
    await writeFile(path, JSON.stringify({ ...whole, [field]: value }));
    await expect(home.store.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /is damaged.*secret set/) as Error);
  }
});

it("takes no shorter tag", async () => {
  await using home = await openHome();
  await home.store.set("local", "openai", VALUE);
  const path = join(folderOf(home.home), "openai.json");
  const whole = JSON.parse(await readFile(path, "utf8")) as { readonly tag: string };
  const tag = Buffer.from(whole.tag, "base64").subarray(0, 12).toString("base64");
  await writeFile(path, JSON.stringify({ ...whole, tag }));
  await expect(home.store.reveal("local", "openai")).rejects.toThrow(failsWith("FILE_IO", /damaged/) as Error);
});

it("gives an owner a thousand secrets, of which each can be replaced", async () => {
  await using home = await openHome();
  await home.store.set("local", "first", VALUE);
  for (let count = 2; count < 1_000; count += 1) await writeFile(join(folderOf(home.home), `name-${count}.json`), "{}");
  await home.store.set("local", "last", VALUE);
  await expect(home.store.set("local", "more", VALUE)).rejects.toThrow(failsWith("QUOTA_EXCEEDED", /1000 secrets/) as Error);
  await home.store.set("local", "first", "another");
  await home.store.set("other", "more", VALUE);
  expect(await home.store.reveal("local", "first")).toBe("another");
  await home.store.remove("local", "last");
  await home.store.set("local", "more", VALUE);
});

it("lists names in their order, and no other file", async () => {
  await using home = await openHome();
  for (const name of ["b", "c", "a"]) await home.store.set("local", name, VALUE);
  for (const file of ["notes.txt", ".hidden.json", "d.json.new", "e f.json"]) await writeFile(join(folderOf(home.home), file), "{}");
  expect((await home.store.list("local")).map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect((await home.store.list("local"))[0]?.changedAt).toEqual((await stat(join(folderOf(home.home), "a.json"))).mtime);
});

it("leaves out of a list what is gone when it is looked at", async () => {
  await using home = await openHome();
  await home.store.set("local", "a", VALUE);
  await symlink("gone", join(folderOf(home.home), "b.json"));
  expect((await home.store.list("local")).map(({ name }) => name)).toEqual(["a"]);
});

it("refuses to remove a name that cannot be", async () => {
  await using home = await openHome();
  await home.store.set("local", "a", VALUE);
  for (const name of ["", "../a", "a/b"])
    await expect(home.store.remove("local", name)).rejects.toThrow(failsWith("ARGUMENTS_INVALID") as Error);
});

it("sees each time that another process begins anew", async () => {
  await using home = await openHome();
  for (const value of ["first", "second", "third"]) {
    await createSecretStore({ home: home.home }).set("local", "openai", value);
    expect(await home.store.reveal("local", "openai")).toBe(value);
    await rm(join(home.home, "secrets"), { recursive: true });
  }
});

it("asks the keyring once for many that wait, and not again while its key fits", async () => {
  const keyring = createMemoryKeyring();
  await using home = await openHome(keyring);
  await home.store.set("local", "openai", VALUE);
  let asked = 0;
  const lookup = (id: string) => {
    asked += 1;
    return keyring.lookup(id);
  };
  const fresh = createSecretStore({ home: home.home, keyring: { ...keyring, lookup } });
  await Promise.all(Array.from({ length: 8 }, () => fresh.reveal("local", "openai")));
  await fresh.reveal("local", "openai");
  expect(asked).toBe(1);
});
