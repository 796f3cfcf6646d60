import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createCallProbe } from "../support/call-probe.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import { verifies } from "./verifies.ts";
import { openProtectedResource } from "../../src/gateway/auth/oauth/protected-resource.ts";

const AUDIENCE = "https://belljar.example.com/mcp";
const METADATA = "/.well-known/oauth-authorization-server";
const now = (): number => Math.floor(Date.now() / 1_000);
const encode = (value: unknown): string => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface LabOptions {
  /** In place of the metadata, or of the keys. */
  readonly metadata?: (origin: string) => Answer;
  readonly keys?: (good: object) => Answer;
  readonly cooldownMs?: number;
}

const json =
  (value: unknown, status = 200): Answer =>
  (_request, response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

/** A server that others reach, and an issuer that answers as the test wants. */
async function openLab({ metadata, keys, cooldownMs = 0 }: LabOptions = {}) {
  const pair = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: "1", alg: "ES256", use: "sig" };
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const good = { issuer: origin(), jwks_uri: `${origin()}/keys` };
    if (request.url === METADATA) (metadata?.(origin()) ?? json(good))(request, response);
    else if (request.url === "/keys") (keys?.({ keys: [jwk] }) ?? json({ keys: [jwk] }))(request, response);
    else response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = createGateway({
    config: { host: "0.0.0.0", port: 0 },
    sandboxes: createNoSandboxes(),
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("Nobody asks")),
    oauth: openProtectedResource({ issuer: origin(), audience: AUDIENCE, keysCooldownMs: cooldownMs }),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = `http://127.0.0.1:${(await gateway.listen()).port}`;
  const claims = (more: object = {}) => ({
    iss: origin(),
    aud: AUDIENCE,
    sub: "alice",
    scope: "belljar",
    iat: now(),
    exp: now() + 300,
    ...more,
  });
  return {
    asked,
    url,
    jwk,
    claims,
    sign: (more: object = {}, header: object = {}) =>
      new SignJWT(claims(more)).setProtectedHeader({ alg: "ES256", kid: "1", typ: "at+jwt", ...header }).sign(pair.privateKey),
    /** Signed, whatever the header says. */
    ask: async (token: string, path = "/v1/sandboxes") =>
      (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status,
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** What a request with these lines is answered with, as they are written here. */
async function raw(url: string, lines: readonly string[]): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`${lines.join("\r\n")}\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
  await once(socket, "close");
  return Number(/^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(chunks).toString())?.[1] ?? 0);
}

verifies("access-tokens-checked", async () => {
  await using lab = await openLab();
  await using stranger = await openLab();
  const good = await lab.sign();
  const [, payload = "", signature = ""] = good.split(".");
  expect(await lab.ask(good)).toBe(200);
  const secret = JSON.stringify({ keys: [lab.jwk] });
  const forged = ["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "dir", "ES256K", "RS1"].flatMap((alg) => {
    const head = `${encode({ alg, kid: "1", typ: "at+jwt" })}.${payload}`;
    const hashes = alg.startsWith("HS") ? [secret, JSON.stringify(lab.jwk), lab.jwk.x ?? ""] : [];
    return [
      `${head}.`,
      `${head}.${signature}`,
      ...hashes.map(
        (key) =>
          `${head}.${createHmac(`sha${alg.slice(2)}`, key)
            .update(head)
            .digest("base64url")}`,
      ),
    ];
  });
  for (const token of forged) expect(await lab.ask(token), token.slice(0, 60)).toBe(401);
  const theirs = { iss: lab.claims().iss };
  const keys = `${stranger.url.replace(/(?<!\d)\d+$/, "")}1/keys`;
  for (const header of [
    { jku: keys },
    { x5u: keys },
    { jwk: stranger.jwk },
    { x5c: ["MIIB"] },
    { kid: "../../../../dev/null" },
    { kid: "/keys" },
    { kid: keys },
    { kid: "1' OR '1'='1" },
    { kid: "1\0" },
    { kid: ["1"] },
    { kid: { $ne: null } },
    { kid: undefined },
  ])
    expect(await lab.ask(await stranger.sign(theirs, header)), JSON.stringify(header)).toBe(401);
  expect(stranger.asked).toEqual([]);
  expect(new Set(lab.asked)).toEqual(new Set([METADATA, "/keys"]));
});

describe("a forged token", () => {
  it("is refused with an extension that nobody knows, or in another form", async () => {
    await using lab = await openLab();
    const good = await lab.sign();
    const [head = "", payload = "", signature = ""] = good.split(".");
    const asking = async (token: string) => lab.ask(token);
    for (const header of [{ crit: ["x"], x: 1 }, { crit: ["b64"], b64: false }, { crit: [] }, { crit: "exp" }])
      expect(await asking(`${encode({ alg: "ES256", kid: "1", ...header })}.${payload}.${signature}`)).toBe(401);
    for (const token of [
      `${head}.${payload}`,
      `${head}.${payload}.${signature}.`,
      `${good}.a.b`,
      `${head}..${signature}`,
      `.${payload}.${signature}`,
      `${head}.${payload}.${signature.slice(0, -2)}`,
      `${head}.${payload}=.${signature}`,
      `${head}.${encode({ ...lab.claims(), sub: "root" })}.${signature}`,
      `${encode("{")}.${payload}.${signature}`,
      `${encode(`{"alg":"none","alg":"ES256","kid":"2"}`)}.${payload}.${signature}`,
      encode("a".repeat(7_000)),
    ])
      expect(await asking(token), token.slice(0, 40)).toBe(401);
  });
});

describe("a signed token", () => {
  it.each([
    ["its issuer in another spelling", (iss: string) => ({ iss: `${iss}/` })],
    ["its issuer as a list", (iss: string) => ({ iss: [iss] })],
    ["its audience in upper case", () => ({ aud: AUDIENCE.toUpperCase() })],
    ["its audience as an object", () => ({ aud: { [AUDIENCE]: true } })],
    ["an empty list of audiences", () => ({ aud: [] })],
    ["its client as audience and this server as azp", () => ({ aud: "client", azp: AUDIENCE })],
    ["an end that is a text", () => ({ exp: String(now() + 300) })],
    ["an end that is no number", () => ({ exp: null })],
    ["an end 31 seconds ago", () => ({ exp: now() - 31 })],
    ["a begin in 40 seconds", () => ({ nbf: now() + 40 })],
    ["a begin that is a text", () => ({ nbf: "0" })],
    ["a subject that is no text", () => ({ sub: 1 })],
    ["a subject that is an object", () => ({ sub: { toString: "a" } })],
    ["a list of subjects", () => ({ sub: ["alice"] })],
    ["a subject with half a character", () => ({ sub: "\ud800" })],
    ["a subject with a right-to-left mark", () => ({ sub: "a\u202Eb" })],
  ])("is refused with %s", async (_what, more) => {
    await using lab = await openLab();
    const { iss } = lab.claims();
    expect(await lab.ask(await lab.sign(more(iss)))).toBe(401);
    expect(await lab.ask(await lab.sign())).toBe(200);
  });

  it.each(["BELLJAR", "Belljar:read-only", "belljar\t", "xbelljar", "belljar.all", "belljar/x", "ｂelljar", "belljаr"])(
    "has no scope in the spelling %j",
    async (scope) => {
      await using lab = await openLab();
      expect(await lab.ask(await lab.sign({ scope }))).toBe(403);
    },
  );

  it.each([
    "belljar:",
    "belljar:*",
    "belljar:toolset",
    "belljar:toolset:",
    "belljar:READ-ONLY",
    "belljar:read-only,belljar",
    "belljar:read-only:",
    "belljar:__proto__",
    "belljar:constructor:x",
    "belljar:workspace:../x",
    "belljar:workspace:/",
  ])("is refused with the scope %j, and not let in with less of it", async (scope) => {
    await using lab = await openLab();
    expect(await lab.ask(await lab.sign({ scope: `belljar ${scope}` }))).toBe(401);
  });

  it("narrows by a scope that stands beside the same one with more, in any order", async () => {
    await using lab = await openLab();
    for (const scope of ["belljar:read-only belljar", "belljar belljar:read-only", "belljar:toolset:todo belljar"])
      expect(await lab.ask(await lab.sign({ scope }), scope.includes("todo") ? "/v1/secrets" : "/v1/sandboxes")).toBe(
        scope.includes("todo") ? 403 : 200,
      );
  });
});

describe("a request", () => {
  it("carries its token in one header and nowhere else", async () => {
    await using lab = await openLab();
    const token = await lab.sign();
    const bearer = `Authorization: Bearer ${token}`;
    expect(await raw(lab.url, ["GET /v1/sandboxes HTTP/1.1", bearer])).toBe(200);
    for (const query of ["access_token", "token", "authorization"])
      expect(await raw(lab.url, [`GET /v1/sandboxes?${query}=${token} HTTP/1.1`])).toBe(401);
    expect(await raw(lab.url, ["GET /v1/sandboxes HTTP/1.1", `Cookie: access_token=${token}; Authorization=Bearer ${token}`])).toBe(401);
    for (const lines of [
      [bearer, "Authorization: Bearer x"],
      ["Authorization: Bearer x", bearer],
      [bearer, bearer],
      [bearer, "authorization: Basic eDp5"],
    ])
      expect(await raw(lab.url, ["GET /v1/sandboxes HTTP/1.1", ...lines])).toBe(401);
    for (const header of [
      `Authorization: ${token}`,
      `Authorization: Bearer ${token}, Bearer ${token}`,
      `Authorization: Bearer ${token} x`,
      `Authorization: Bearer\t${token}`,
      `Proxy-Authorization: Bearer ${token}`,
      `X-Authorization: Bearer ${token}`,
      `Authorization: Bearer ${"a".repeat(9_000)}`,
    ])
      expect(await raw(lab.url, ["GET /v1/sandboxes HTTP/1.1", header]), header.slice(0, 40)).toBe(401);
  });

  it("with a megabyte of token costs no look at the issuer", async () => {
    await using lab = await openLab();
    const huge = `${encode({ alg: "ES256", kid: "1" })}.${encode("a".repeat(1_000_000))}.x`;
    expect([401, 431, 0]).toContain(await raw(lab.url, ["GET /v1/sandboxes HTTP/1.1", `Authorization: Bearer ${huge}`]));
    expect(lab.asked).toEqual([]);
  });

  it("does not choose by its Host what the metadata says", async () => {
    await using lab = await openLab();
    const { port } = new URL(lab.url);
    const socket = connect({ host: "127.0.0.1", port: Number(port) });
    socket.write(
      "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\nConnection: close\r\n\r\n",
    );
    socket.write("");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(socket, "close");
    expect(Buffer.concat(chunks).toString()).not.toContain("evil.example");
    const refused = await fetch(`${lab.url}/mcp`, { headers: { "x-forwarded-host": "evil.example" } });
    expect(refused.headers.get("www-authenticate")).not.toContain("evil");
  });
});

describe("an issuer", () => {
  const answers: readonly (readonly [string, LabOptions])[] = [
    ["keys that are elsewhere", { keys: () => (_request, response) => void response.writeHead(302, { location: "/other" }).end() }],
    ["keys of more than a MiB", { keys: (good) => json({ ...good, more: "a".repeat(1_100_000) }) }],
    ["keys that are no JSON", { keys: () => (_request, response) => void response.end("<html>") }],
    ["keys that are no set", { keys: () => json({ keys: "1" }) }],
    ["no keys", { keys: () => json({ keys: [] }) }],
    [
      "its metadata elsewhere",
      { metadata: (origin) => (_request, response) => void response.writeHead(301, { location: `${origin}/keys` }).end() },
    ],
    ["metadata of another issuer", { metadata: (origin) => json({ issuer: "https://evil.example", jwks_uri: `${origin}/keys` }) }],
    ["keys at a data address", { metadata: (origin) => json({ issuer: origin, jwks_uri: "data:application/json,{}" }) }],
    ["keys at a file", { metadata: (origin) => json({ issuer: origin, jwks_uri: "file:///etc/passwd" }) }],
    ["keys in clear text", { metadata: (origin) => json({ issuer: origin, jwks_uri: "http://192.0.2.1/keys" }) }],
    ["keys at no address", { metadata: (origin) => json({ issuer: origin, jwks_uri: ["x"] }) }],
  ];
  it.each(answers)("with %s lets nobody in", async (_what, options) => {
    await using lab = await openLab(options);
    expect([401, 503]).toContain(await lab.ask(await lab.sign()));
  });

  it("with a secret among its keys takes none that is signed with it", async () => {
    const secret = randomBytes(32).toString("base64url");
    await using lab = await openLab({ keys: () => json({ keys: [{ kty: "oct", k: secret, kid: "1", alg: "HS256" }] }) });
    const token = await new SignJWT(lab.claims()).setProtectedHeader({ alg: "HS256", kid: "1" }).sign(Buffer.from(secret, "base64url"));
    expect(await lab.ask(token)).toBe(401);
  });

  it.each([
    ["fails", (): Answer => json({}, 500)],
    ["has none", (): Answer => json({ keys: [] })],
  ])("whose key endpoint %s is not asked for each of many tokens", async (_what, keys) => {
    await using lab = await openLab({ keys, cooldownMs: 60_000 });
    for (let at = 0; at < 20; at += 1) expect([401, 503]).toContain(await lab.ask(await lab.sign({}, { kid: `k${at}` })));
    await Promise.all(Array.from({ length: 50 }, async (_, at) => lab.ask(await lab.sign({}, { kid: `p${at}` }))));
    expect(lab.asked.filter((path) => path === "/keys").length).toBeLessThanOrEqual(2);
  });
});

it("an issuer of the Internet does not send this server to its own machine for keys", async () => {
  const { assertKeysPlace } = await import("../../src/gateway/auth/oauth/issuer-keys.ts");
  const far = new URL("https://id.example.com");
  const refused = expect.objectContaining({ code: "SERVER_UNREACHABLE" });
  for (const place of [
    "http://127.0.0.1:6060/keys",
    "https://127.0.0.1/keys",
    "https://[::1]/keys",
    "https://169.254.169.254/x",
    "https://10.0.0.1/keys",
    "https://localhost/keys",
  ])
    expect(() => assertKeysPlace(new URL(place), far), place).toThrow(refused);
  expect(assertKeysPlace(new URL("https://keys.example.net/x"), far).host).toBe("keys.example.net");
  expect(assertKeysPlace(new URL("http://127.0.0.1:1/keys"), new URL("http://localhost:2")).port).toBe("1");
  expect(assertKeysPlace(new URL("https://10.0.0.1/keys"), new URL("https://10.0.0.1/realm")).host).toBe("10.0.0.1");
});
