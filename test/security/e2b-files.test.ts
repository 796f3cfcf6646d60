import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { createSignerSearch } from "../../src/gateway/e2b/envd/files/signer-search.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { E2bPortsLab } from "../support/e2b-ports-lab.ts";
import { openE2bPortsLab } from "../support/e2b-ports-lab.ts";
import { verifies } from "./verifies.ts";

const FORGED = `v1_${"A".repeat(43)}`;
const LATER = Math.floor(Date.now() / 1_000) + 3_600;
let lab: E2bPortsLab;
let own: Sandbox;
let other: Sandbox;

beforeAll(async () => {
  lab = await openE2bPortsLab();
  [own, other] = await Promise.all([lab.make(), lab.make()]);
  for (const { id, guest } of [own, other])
    await guest.files.write("/home/user/f.html", `<script>${id}</script>`, { signal: AbortSignal.timeout(30_000) });
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

const named = ({ id }: Pick<Sandbox, "id">) => ({ "e2b-sandbox-id": id, "e2b-sandbox-port": "49983" });
const accessOf = ({ id }: Pick<Sandbox, "id">) => ({ ...named({ id }), "x-access-token": lab.tokens.of("access", id) });

interface Asked {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: FormData;
}

async function ask({ query = { path: "f.html" }, headers = {}, method = "GET", body }: Asked) {
  const answer = await fetch(new URL(`/files?${new URLSearchParams(query).toString()}`, lab.origin), {
    method,
    headers,
    ...(body && { body }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

function signed(id: string, changed: Readonly<Record<string, string>> = {}, until = LATER): Readonly<Record<string, string>> {
  const text = `f.html:read::${lab.tokens.of("access", id)}:${until}`;
  const signature = `v1_${createHash("sha256").update(text).digest("base64").slice(0, 43)}`;
  return { path: "f.html", signature, signature_expiration: String(until), ...changed };
}

verifies("e2b-files-need-their-token", async () => {
  expect(await ask({ headers: accessOf(own) })).toMatchObject({ status: 200, text: `<script>${own.id}</script>` });
  expect(await ask({ query: signed(own.id) })).toMatchObject({ status: 200, text: `<script>${own.id}</script>` });
  const nobody = { id: "a".repeat(20) };
  const refused: readonly Asked[] = [
    {},
    { query: signed(nobody.id) },
    { query: signed(own.id, { path: "g.html" }) },
    { query: signed(own.id, { username: "root" }) },
    { query: signed(own.id, { signature_expiration: String(LATER + 1) }) },
    { query: signed(own.id), method: "POST", body: new FormData() },
    { query: signed(own.id, {}, LATER - 7_200) },
    { headers: { ...accessOf(own), "x-access-token": lab.tokens.of("traffic", own.id) } },
  ];
  for (const asked of refused) expect((await ask(asked)).status, JSON.stringify(asked)).toBe(401);
  // The same for a sandbox that is there and for one that is not.
  const wrong = { query: signed(nobody.id, {}, LATER + 5) };
  for (const headers of [{ ...named(other) }, { ...named(nobody) }]) {
    for (const query of [signed(own.id), wrong.query])
      expect(
        await ask({ query: { ...query, signature: signed(own.id).signature ?? "", signature_expiration: "1" }, headers }),
      ).toMatchObject({
        status: 401,
        text: JSON.stringify({ code: 401, message: "invalid signature" }),
      });
    expect((await ask({ headers: { ...headers, "x-access-token": lab.tokens.of("access", own.id) } })).status).toBe(401);
  }
  for (const way of ["filesystem.Filesystem/Stat", "files/compose"]) {
    const url = new URL(`/${way}?${new URLSearchParams(signed(own.id)).toString()}`, lab.origin);
    const headers = { "content-type": "application/json", ...named(own) };
    expect((await fetch(url, { method: "POST", headers, body: '{"path":"/"}' })).status, way).toBe(401);
  }
  lab.given.hasKey = false;
  expect((await ask({ headers: accessOf(own) })).status, "whose owner has no key").toBe(401);
  expect((await ask({ query: signed(own.id) })).status, "whose owner has no key").toBe(401);
  lab.given.hasKey = true;
});

verifies("e2b-signatures-bounded", async () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => String(at).padStart(20, "a"));
  const { tokens } = lab;
  // A clock that stands: no time gives the budget back.
  const budget = { triesPerS: 50_000, triesMax: 100_000, now: () => 0 };
  const search = createSignerSearch({ tokens, sandboxes: { linkedIds: async () => ids } }, budget);
  const file = { operation: "read", path: "f.html", username: "", expiration: undefined } as const;
  let goesOn = 0;
  const timer = setInterval(() => (goesOn += 1), 0);
  for (let time = 0; time < 10; time += 1) expect(await search.find({ ...file, signature: FORGED })).toBeUndefined();
  clearInterval(timer);
  expect(goesOn, "the rest of the server goes on").toBeGreaterThanOrEqual(10);
  await expect(search.find({ ...file, signature: FORGED })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  const forged = signed(own.id, { signature: FORGED });
  expect((await ask({ query: forged })).status).toBe(401);
  expect((await ask({ query: forged, headers: named(own) })).status).toBe(401);
});

verifies("e2b-files-inert", async () => {
  for (const query of [{ path: "f.html" }, { path: "/home/user/f.html" }]) {
    const { headers } = await ask({ query, headers: accessOf(own) });
    expect(headers.get("content-type")).toBe("application/octet-stream");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")?.split("; ")).toEqual(["default-src 'none'", "sandbox"]);
  }
  const signal = AbortSignal.timeout(30_000);
  for (const path of ["a.svg", "a.xhtml", "a.js", "a.pdf", "a.html.txt", "a\r\nset-cookie: x=y.png"]) {
    await own.guest.files.write(`/home/user/${path}`, "<script>1</script>", { signal });
    const { headers } = await ask({ query: { path }, headers: accessOf(own) });
    expect(headers.get("content-type"), path).toMatch(/^(?:application\/octet-stream|text\/plain; charset=utf-8|image\/png)$/);
    expect([headers.get("content-security-policy"), headers.get("set-cookie")], path).toEqual(["default-src 'none'; sandbox", null]);
  }
});

verifies("e2b-files-stay-inside", async () => {
  const accounts = readFileSync("/etc/passwd", "utf8");
  const folder = mkdtempSync(join(tmpdir(), "bj-outside-"));
  const signal = AbortSignal.timeout(30_000);
  await own.guest.files.symlink("/home/user/link", folder, { signal });
  const upload = (name: string): Promise<{ readonly status: number }> => {
    const body = new FormData();
    body.append("file", new Blob(["x"]), name);
    return ask({ query: {}, headers: accessOf(own), method: "POST", body });
  };
  for (const name of [
    `../../../../../../..${folder}/escaped`,
    `${folder}/escaped`,
    "link/escaped",
    `~/../../..${folder}/escaped`,
    "../../proc/1/root/escaped",
  ]) {
    await upload(name);
    expect([existsSync(`${folder}/escaped`), existsSync("/escaped")], name).toEqual([false, false]);
  }
  for (const path of ["../../../etc/passwd", "/etc/passwd", "/proc/1/root/etc/passwd", "/proc/self/root/../etc/passwd"]) {
    const { text } = await ask({ query: { path }, headers: accessOf(own) });
    expect(text === accounts, path).toBe(false);
  }
  rmSync(folder, { recursive: true });
  if (process.getuid?.() !== 0) return;
  // In a sandbox that was made without root its one user owns all of its files.
  expect((await upload("/etc/escaped")).status).toBe(403);
  expect((await ask({ query: { path: "/etc/shadow" }, headers: accessOf(own) })).status).not.toBe(200);
});
