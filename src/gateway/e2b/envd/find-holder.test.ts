import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { createSandboxTokens } from "../sandbox-tokens.ts";
import { findFilesHolder } from "./find-holder.ts";

const tokens = createSandboxTokens(Buffer.alloc(32, 3));
const ids = ["one", "two"];
const NOW = 1_000_000;

function signatureBy(id: string, path: string, expiration?: number): string {
  const text = `${path}:read::${tokens.of("access", id)}${expiration === undefined ? "" : `:${expiration}`}`;
  return `v1_${createHash("sha256").update(text).digest("base64").replace(/=+$/, "")}`;
}

function open() {
  let now = NOW;
  let searches = 0;
  const sandboxes = {
    async linkedIds() {
      searches += 1;
      return ids;
    },
  };
  const find = findFilesHolder({ tokens, sandboxes }, () => now);
  const ask = (url: string, headers: Readonly<Record<string, string>> = {}): IncomingMessage =>
    ({ method: "GET", url, headers: { host: "localhost", ...headers }, rawHeaders: [] }) as unknown as IncomingMessage;
  return { find, ask, searches: () => searches, pass: (ms: number) => void (now += ms) };
}

function signedUrl(id: string, path = "a", expiration?: number): string {
  const query = {
    path,
    signature: signatureBy(id, path, expiration),
    ...(expiration !== undefined && { signature_expiration: String(expiration) }),
  };
  return `/files?${new URLSearchParams(query).toString()}`;
}

const named = (id: string) => ({ "e2b-sandbox-id": id, "e2b-sandbox-port": "49983" });

it("finds who signed a URL that names no sandbox", async () => {
  const { find, ask } = open();
  expect(await find(ask(signedUrl("two")))).toBe("two");
  await expect(find(ask(signedUrl("three")))).rejects.toMatchObject({ code: "UNAUTHORIZED", message: "invalid signature" });
  await expect(find(ask("/files?path=a"))).rejects.toMatchObject({ message: "missing signature query parameter" });
  await expect(find(ask("/files?path=a&signature=v1_x"))).rejects.toMatchObject({ message: "invalid signature" });
});

it("tries the sandbox alone that a request names, whether it is there or not", async () => {
  const { find, ask, searches } = open();
  expect(await find(ask(signedUrl("two"), named("two")))).toBe("two");
  await expect(find(ask(signedUrl("two"), named("one")))).rejects.toMatchObject({ message: "invalid signature" });
  await expect(find(ask(signedUrl("two"), named("nobody")))).rejects.toMatchObject({ message: "invalid signature" });
  expect(await find(ask(signedUrl("two"), { host: "49983-two.localhost" }))).toBe("two");
  await expect(find(ask(signedUrl("two"), { host: "49983-one.localhost", ...named("two") }))).rejects.toMatchObject({
    code: "UNAUTHORIZED",
  });
  expect(searches()).toBe(0);
});

it("takes an access token in the place of a signature, and a signature for files alone", async () => {
  const { find, ask } = open();
  const token = { "x-access-token": tokens.of("access", "one") };
  expect(await find(ask("/files?path=a", token))).toBe("one");
  expect(await find(ask("/filesystem.Filesystem/Stat", { ...token, ...named("one") }))).toBe("one");
  await expect(find(ask("/filesystem.Filesystem/Stat", { ...token, ...named("two") }))).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  const query = new URL(signedUrl("one"), "http://localhost").search;
  for (const path of ["/filesystem.Filesystem/Stat", "/files/compose", "/process.Process/List", "/filesx"])
    await expect(find(ask(path + query)), path).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  await expect(
    find(ask(signedUrl("one"), { "x-access-token": "wrong" })),
    "a wrong token is not mended by a signature",
  ).rejects.toMatchObject({
    code: "UNAUTHORIZED",
  });
});

it("takes a signature until its second is over, and leaves alone whoever began before", async () => {
  const { find, ask, pass } = open();
  const request = ask(signedUrl("one", "a", NOW / 1_000));
  expect(await find(request)).toBe("one");
  pass(1_000);
  expect(await find(request)).toBe("one");
  await expect(find(ask(signedUrl("one", "a", NOW / 1_000)))).rejects.toMatchObject({
    code: "UNAUTHORIZED",
    message: "signature is already expired",
  });
});
