import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { createSandboxAuthority } from "../tls/sandbox-authority.ts";
import { createSecretGuard } from "./create-secret-guard.ts";
import { createPlaceholder } from "./placeholder.ts";
import type { FilledRequest, RequestTarget, ResponseMask, SecretGuard } from "./secret-guard.ts";

const VALUE = "sk/test+Value==é&1";
const BYTES = Buffer.from(VALUE);
const OPENAI = createPlaceholder();
const GITHUB = createPlaceholder();
const API: RequestTarget = { host: "api.example.com", port: 443, isEncrypted: true };
const ELSEWHERE: RequestTarget = { host: "elsewhere.example.com", port: 443, isEncrypted: true };

function openGuard(values: Readonly<Record<string, string>> = { openai: VALUE, github: "gh-0123456789" }): SecretGuard {
  return createSecretGuard({
    owner: "local",
    uses: {
      OPENAI_API_KEY: { secret: "openai", hosts: ["api.example.com", "127.0.0.1:8443"] },
      GITHUB_TOKEN: { secret: "github", hosts: ["github.example.com"] },
    },
    placeholders: { OPENAI_API_KEY: OPENAI, GITHUB_TOKEN: GITHUB },
    store: { reveal: async (owner, name) => (owner === "local" ? values[name] : undefined) },
    authority: createSandboxAuthority(),
  });
}

const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString("base64")}`;
const send = (headers: Record<string, string | string[]>, target = API, path = "/"): Promise<FilledRequest> =>
  openGuard().fillRequest(target, { path, headers });
const denied = (message: RegExp) =>
  expect.objectContaining({ code: "FORBIDDEN", message: expect.stringMatching(message) as string }) as Error;

it("puts the value into headers", async () => {
  const { headers } = await send({ authorization: `Bearer ${OPENAI}`, cookie: `a=1; key=${OPENAI}`, accept: ["a", OPENAI] });
  const sent = BYTES.toString("latin1");
  expect(headers).toEqual({
    authorization: `Bearer ${sent}`,
    cookie: `a=1; key=${sent}`,
    accept: ["a", sent],
    "accept-encoding": "identity",
  });
});

it("puts the value into basic authorization", async () => {
  const { headers } = await send({ authorization: basic(`user:${OPENAI}`) });
  expect(headers["authorization"]).toBe(basic(`user:${VALUE}`));
});

it("puts the value percent-encoded into the path and the query", async () => {
  const { path } = await send({}, API, `/bot${OPENAI}/send?key=${OPENAI}&b=1`);
  expect(path).toBe(`/bot${encodeURIComponent(VALUE)}/send?key=${encodeURIComponent(VALUE)}&b=1`);
});

it("refuses a placeholder of another sandbox in each part of a head, and says so", async () => {
  const strange = createPlaceholder();
  const asks: Record<string, string>[] = [
    { authorization: `Bearer ${strange}` },
    { authorization: basic(`user:${strange}`) },
    { cookie: `${OPENAI} ${strange}` },
  ];
  for (const ask of asks) await expect(send(ask)).rejects.toEqual(denied(/not of this sandbox.*own variables/));
  await expect(send({}, API, `/?key=${strange}`)).rejects.toEqual(denied(/not of this sandbox/));
});

it("does not change a request to a host without secrets", async () => {
  const headers = { authorization: basic("user:password"), range: "bytes=0-5", "accept-encoding": "gzip" };
  const filled = await send(headers, ELSEWHERE, "/a?b=belljar_secret_");
  expect(filled).toMatchObject({ path: "/a?b=belljar_secret_", headers });
  expect(filled.mask).toBeUndefined();
});

it("masks values that another request may have left at the host", async () => {
  const filled = await send({ authorization: basic("user:password") }, API, "/a?b=belljar_secret_");
  expect(filled).toMatchObject({ path: "/a?b=belljar_secret_", headers: { authorization: basic("user:password") } });
  expect(filled.mask?.text(BYTES.toString("latin1"))).toBe(OPENAI);
});

it("passes a request without the placeholder if the secret is gone", async () => {
  const filled = await openGuard({}).fillRequest(API, { path: "/", headers: {} });
  expect(filled.mask).toBeUndefined();
});

it("requests a complete and uncompressed answer", async () => {
  const asked = { "accept-encoding": "gzip", range: "bytes=0-5", "if-range": "x", "sec-websocket-extensions": "permessage-deflate" };
  const { headers } = await send({ ...asked, "x-key": OPENAI });
  expect(headers).toEqual({ "x-key": BYTES.toString("latin1"), "accept-encoding": "identity" });
});

it.each([
  ["a header", { "x-key": `a ${OPENAI} b` }, "/"],
  ["basic authorization", { authorization: basic(`${OPENAI}:`) }, "/"],
  ["the query", {}, `/?key=${OPENAI}`],
  ["the path", {}, `/${OPENAI}`],
  ["a header's name", { [OPENAI]: "a" }, "/"],
])("refuses another host's placeholder in %s, and says which host it is for", async (_place, headers, path) => {
  await expect(send(headers, ELSEWHERE, path)).rejects.toThrow(denied(/OPENAI_API_KEY.*api\.example\.com.*not to elsewhere/));
});

it.each([
  ["another port", { ...API, port: 8443 }, /not to api\.example\.com:8443/],
  ["a name below", { ...API, host: "a.api.example.com" }, /not to/],
  ["plain HTTP", { ...API, isEncrypted: false }, /only over TLS/],
])("refuses its placeholder over %s", async (_what, target, message) => {
  await expect(send({ "x-key": OPENAI }, target)).rejects.toThrow(denied(message));
});

it.each(["host", "connection", "content-length", "transfer-encoding", "upgrade"])("fills nothing into %s", async (name) => {
  await expect(send({ [name]: OPENAI })).rejects.toThrow(denied(/controls the connection/));
});

it("refuses a request to its host that also holds another host's placeholder", async () => {
  await expect(send({ a: OPENAI, b: GITHUB })).rejects.toThrow(denied(/GITHUB_TOKEN/));
});

it("knows its hosts in every spelling", () => {
  const guard = openGuard();
  expect(guard.terminates("API.example.com.", 443)).toBe(true);
  expect(guard.terminates("127.0.0.1", 8443)).toBe(true);
  expect(guard.terminates("api.example.com", 8443)).toBe(false);
  expect(guard.terminates("example.com", 443)).toBe(false);
});

it("reports that the secret is gone", async () => {
  const head = { path: "/", headers: { "x-key": OPENAI } };
  const filled = openGuard({}).fillRequest(API, head);
  await expect(filled).rejects.toThrow(
    expect.objectContaining({ code: "SECRET_NOT_FOUND", message: expect.stringContaining("belljar secret set openai") as string }) as Error,
  );
});

it("reports once to the host why a secret cannot be read, and hides the reason from the program", async () => {
  const reports: string[] = [];
  const guard = createSecretGuard({
    owner: "local",
    uses: { OPENAI_API_KEY: { secret: "openai", hosts: ["api.example.com"] } },
    placeholders: { OPENAI_API_KEY: OPENAI },
    store: { reveal: () => Promise.reject(new BelljarError("FILE_IO", "The key in /home/person/.belljar is damaged")) },
    authority: createSandboxAuthority(),
    report: (problem) => void reports.push(problem),
  });
  const head = { path: "/", headers: { "x-key": OPENAI } };
  const told = expect.objectContaining({
    code: "SECRET_NOT_FOUND",
    message: expect.stringMatching(/cannot be read(?!.*\/home)/) as string,
  }) as Error;
  await expect(guard.fillRequest(API, head)).rejects.toThrow(told);
  await expect(guard.fillRequest(API, head)).rejects.toThrow(told);
  expect(reports).toEqual(["The secret openai cannot be used: The key in /home/person/.belljar is damaged"]);
});

it("gives up for another error than of the store, and fills nothing in", async () => {
  const guard = createSecretGuard({
    owner: "local",
    uses: { OPENAI_API_KEY: { secret: "openai", hosts: ["api.example.com"] } },
    placeholders: { OPENAI_API_KEY: OPENAI },
    store: { reveal: () => Promise.reject(new TypeError("a bug")) },
    authority: createSandboxAuthority(),
  });
  await expect(guard.fillRequest(API, { path: "/", headers: { "x-key": OPENAI } })).rejects.toThrow(TypeError);
});

it("says what to do if a secret does not exist any more", async () => {
  const told = expect.objectContaining({ code: "SECRET_NOT_FOUND", message: expect.stringContaining("does not exist any more") as string });
  await expect(openGuard({}).fillRequest(API, { path: "/", headers: { "x-key": OPENAI } })).rejects.toThrow(told as Error);
});

async function sendBody(target: RequestTarget, body: string): Promise<string> {
  const { requestBody } = await send({}, target);
  const watch = requestBody?.();
  if (!watch) return body;
  Readable.from([Buffer.from(body)]).pipe(watch);
  return text(watch);
}

it("breaks a body that holds another host's placeholder", async () => {
  await expect(sendBody(ELSEWHERE, `{"key":"${OPENAI}"}`)).rejects.toThrow(denied(/OPENAI_API_KEY/));
  await expect(sendBody(API, `{"key":"${GITHUB}"}`)).rejects.toThrow(denied(/GITHUB_TOKEN/));
  await expect(sendBody({ ...API, isEncrypted: false }, OPENAI)).rejects.toThrow(denied(/only over TLS/));
});

it("passes a body without placeholders, or with its own host's, and fills in nothing", async () => {
  expect(await sendBody(ELSEWHERE, "hello")).toBe("hello");
  expect(await sendBody(API, `{"key":"${OPENAI}"}`)).toBe(`{"key":"${OPENAI}"}`);
});

it("finds a placeholder in raw bytes", () => {
  const guard = openGuard();
  expect(guard.hasPlaceholder(Buffer.from(`\u0001${GITHUB}\u0002`))).toBe(true);
  expect(guard.hasPlaceholder(Buffer.from(createPlaceholder()))).toBe(false);
});

async function openMask(headers: Record<string, string> = { "x-key": OPENAI }): Promise<ResponseMask> {
  const { mask } = await send(headers);
  if (!mask) throw new Error("A filled request has a mask");
  return mask;
}

async function maskBody(mask: ResponseMask, chunks: readonly Buffer[]): Promise<string> {
  const stream = mask.body();
  Readable.from(chunks).pipe(stream);
  return text(stream);
}

const ECHOES: readonly (readonly [string, string])[] = [
  ["as it is", VALUE],
  ["in JSON", JSON.stringify(VALUE)],
  ["in ASCII JSON", String.raw`sk/test+Value==\u00e9&1`],
  ["in JSON with escaped slashes", String.raw`sk\/test+Value==é&1`],
  ["percent-encoded", encodeURIComponent(VALUE)],
  ["percent-encoded in lower case", "sk%2ftest%2bValue%3d%3d%c3%a9%261"],
  ["in HTML", "sk/test+Value==é&amp;1"],
  ["in base64", BYTES.toString("base64")],
  ["in base64 after one byte", Buffer.concat([Buffer.from("a"), BYTES]).toString("base64")],
  ["in base64 after two bytes", Buffer.concat([Buffer.from("ab"), BYTES, Buffer.from("cde")]).toString("base64")],
  ["in base64url", BYTES.toString("base64url")],
  ["in hex", BYTES.toString("hex")],
];

/** Returns the parts of the value that a reader could still find, in any form. */
function formsIn(masked: string): readonly string[] {
  const cores = [
    BYTES.toString("base64"),
    Buffer.concat([Buffer.from("a"), BYTES])
      .toString("base64")
      .slice(2, -4),
  ];
  return [VALUE, encodeURIComponent(VALUE), BYTES.toString("hex"), "test+Value", "%2BValue", ...cores].filter((form) =>
    masked.includes(form),
  );
}

it.each(ECHOES)("masks an echo %s, wherever the answer is split", async (_form, echo) => {
  const whole = Buffer.from(`before ${echo} after`);
  for (let at = 0; at <= whole.length; at++) {
    // oxlint-disable-next-line no-await-in-loop
    const masked = await maskBody(await openMask(), [whole.subarray(0, at), whole.subarray(at)]);
    expect(masked).not.toContain(echo);
    expect(formsIn(masked)).toEqual([]);
    expect(masked).toMatch(/^before .* after$/);
  }
});

it("replaces an echo by the placeholder that the program sent", async () => {
  expect(await maskBody(await openMask(), [Buffer.from(`{"key":"${VALUE}"}`)])).toBe(`{"key":"${OPENAI}"}`);
  const credentials = { authorization: basic(`user:${OPENAI}`) };
  expect(await maskBody(await openMask(credentials), [Buffer.from(`got ${basic(`user:${VALUE}`)}`)])).toMatch(/^got Basic dXNlcjp\*+/);
});

it("masks headers, and removes those that tell the body's length", async () => {
  const mask = await openMask();
  const sent = BYTES.toString("latin1");
  const masked = mask.headers({ location: `/?k=${encodeURIComponent(VALUE)}`, "set-cookie": [sent], "content-length": "9", digest: "x" });
  expect(masked).toEqual({ location: `/?k=${OPENAI}`, "set-cookie": [OPENAI] });
});

it("keeps every length after an upgrade", async () => {
  const mask = await openMask();
  const stream = mask.upgraded();
  const said = `a${VALUE}b${encodeURIComponent(VALUE)}c`;
  const whole = Buffer.concat([Buffer.of(0x81, Buffer.byteLength(said)), Buffer.from(said)]);
  Readable.from([whole.subarray(0, 7), whole.subarray(7)]).pipe(stream);
  const masked = await buffer(stream);
  expect(masked.length).toBe(whole.length);
  expect(masked.subarray(2).toString()).toMatch(/^a\*+b\*+c$/);
});

it("passes events at once if they cannot begin a value", async () => {
  const mask = await openMask();
  const stream = mask.body();
  stream.write(Buffer.from("data: 1\n\n"));
  expect(String(stream.read())).toBe("data: 1\n\n");
  stream.write(Buffer.from("data: sk/te"));
  expect(String(stream.read())).toBe("data: ");
  stream.write(Buffer.from("a\n\n"));
  expect(String(stream.read())).toBe("sk/tea\n\n");
});

it("is not slowed down by an answer full of near matches", async () => {
  const value = `${"a".repeat(4000)}b`;
  const head = { path: "/", headers: { "x-key": OPENAI } };
  const { mask } = await openGuard({ openai: value }).fillRequest(API, head);
  const chunks = Array.from({ length: 50 }, () => Buffer.alloc(3999, "a"));
  expect(await maskBody(mask ?? (await openMask()), chunks)).toBe("a".repeat(50 * 3999));
});
