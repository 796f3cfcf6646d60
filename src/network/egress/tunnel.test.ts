import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type ConnectionOptions, createServer as createTlsServer } from "node:tls";
import { expect, it } from "vitest";
import { LAB_SANDBOX, converse, openConnect, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";
import { helloOf, withExtension } from "../../../test/support/tls-hello.ts";
import { createSecretGuard } from "../secrets/create-secret-guard.ts";
import { createPlaceholder } from "../secrets/placeholder.ts";
import type { SecretGuard } from "../secrets/secret-guard.ts";
import { createSandboxAuthority, createServerCertificates } from "../tls/sandbox-authority.ts";

const OUTSIDE = createSandboxAuthority();
const certificates = createServerCertificates(OUTSIDE);
const INSIDE = createSandboxAuthority();
const PLACEHOLDER = createPlaceholder();
const VALUE = "sk-the-real-value-0123456789";
const NAMES = { "good.test": ["127.0.0.1"], "other.test": ["127.0.0.1"] };

const tlsOptions = {
  SNICallback: (name: string, done: (error: null, context: ReturnType<typeof certificates.contextFor>) => void) =>
    done(null, certificates.contextFor(name || "none.test")),
};

function openGuard(hosts: readonly string[]): SecretGuard {
  return createSecretGuard({
    owner: "local",
    uses: { API_KEY: { secret: "api", hosts } },
    placeholders: { API_KEY: PLACEHOLDER },
    store: { reveal: async () => VALUE },
    authority: INSIDE,
  });
}

/** Resolves once the handshake is done; rejects with the alert. */
async function secure(socket: Duplex, options: ConnectionOptions): Promise<Duplex & { readonly authorizationError?: Error }> {
  const client = connectTls({ socket, ...options });
  await once(client, "secureConnect");
  return client;
}

const greeter = () => createTlsServer(tlsOptions, (socket) => socket.on("error", () => {}).end("hello over TLS"));

it("carries TLS whose server name is the host, and counts its bytes", async () => {
  await using origin = await openOrigin(greeter());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`https://${host}`] }, names: NAMES });
  const client = await secure(await openConnect(lab, host), { servername: "good.test", ca: OUTSIDE.certificatePem });
  expect(await readUntil(client, "TLS")).toBe("hello over TLS");
  client.end();
  const row = await lab.recorded((record) => record.verdict === "allowed");
  expect(row).toMatchObject({ via: "connect", host: "good.test", rule: `https://${host}` });
  expect(row.sentBytes).toBeGreaterThan(200);
  expect(row.receivedBytes).toBeGreaterThan(200);
});

it.each([
  ["another name", { servername: "other.test" }, "sni-mismatch"],
  ["no name", {}, "sni-missing"],
])("refuses TLS with %s by an alert", async (_what, options, reason) => {
  await using origin = await openOrigin(greeter());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`https://${host}`, "other.test"] }, names: NAMES });
  const tunnel = await openConnect(lab, host);
  await expect(secure(tunnel, { ...options, rejectUnauthorized: false })).rejects.toThrow(/alert|unrecognized/i);
  expect(await lab.recorded((row) => row.reason === reason)).toMatchObject({ verdict: "refused", host: "good.test" });
});

it("refuses a hello that hides the server's name", async () => {
  await using origin = await openOrigin(greeter());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`https://${host}`] }, names: NAMES });
  const hello = withExtension(await helloOf({ servername: "good.test" }), 0xfe0d, Buffer.alloc(40));
  const answer = await converse(await openConnect(lab, host), hello);
  expect(Buffer.from(answer, "latin1")).toEqual(Buffer.from([21, 3, 3, 0, 2, 2, 49]));
  expect(await lab.recorded(() => true)).toMatchObject({ verdict: "refused", reason: "encrypted-hello" });
});

it("checks the server name on a port where anything may be spoken, when TLS is", async () => {
  await using origin = await openOrigin(greeter());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
  const tunnel = await openConnect(lab, host);
  await expect(secure(tunnel, { servername: "other.test", rejectUnauthorized: false })).rejects.toThrow(/alert|unrecognized/i);
  const right = await secure(await openConnect(lab, host), { servername: "good.test", ca: OUTSIDE.certificatePem });
  expect(await readUntil(right, "TLS")).toBe("hello over TLS");
});

it("closes a silent connection, so that waiting avoids no check", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.resume()));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES, limits: { idleMs: 50 } });
  const client = await openConnect(lab, host);
  await once(client.resume(), "end");
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "too-slow" }]);
});

it("refuses anything but TLS if the rule is for https", async () => {
  await using origin = await openOrigin(createHttpServer((_request, response) => response.end("plain")));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`https://${host}`] }, names: NAMES });
  await converse(await openConnect(lab, host), `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(await lab.recorded((row) => row.reason === "not-tls")).toMatchObject({ verdict: "refused" });
});

it.each([
  ["alone", ["GET HOST/a"]],
  ["beside TLS without conditions", ["GET HOST/a", "https://HOST"]],
  ["for plain HTTP, beside TLS without conditions", ["GET http://HOST/a", "https://HOST"]],
  ["for plain HTTP, beside TLS with conditions", ["GET http://HOST/a", "https://HOST/b"]],
])("holds plain HTTP in a tunnel to the conditions of its rule, %s", async (_what, rules) => {
  const seen: string[] = [];
  await using origin = await openOrigin(createHttpServer((request, response) => response.end(`seen ${seen.push(request.url ?? "")}`)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: rules.map((rule) => rule.replace("HOST", host)) }, names: NAMES });
  const ask = async (line: string): Promise<string> =>
    converse(await openConnect(lab, host), `${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  for (const line of ["POST /a", "GET /c"]) expect(await ask(line)).toMatch(/^HTTP\/1\.1 403 [^]*no-rule/);
  expect(await ask("GET /a")).toMatch(/^HTTP\/1\.1 200 [^]*seen 1/);
  expect(seen).toEqual(["/a"]);
});

it("carries nothing but HTTP and TLS if the rules are for these", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.end("220 ready\n")));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`http://${host}`, `https://${host}`] }, names: NAMES });
  expect(await converse(await openConnect(lab, host), "SSH-2.0-x\r\n")).toMatch(/^HTTP\/1\.1 400 /);
  await using open = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
  expect(await converse(await openConnect(open, host), "SSH-2.0-x\r\n")).toBe("220 ready\n");
});

it("carries bytes unchanged, even if the server speaks first or one side ends early", async () => {
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket.write("220 ready\n");
    socket.on("end", () => socket.end("bye")).resume();
  });
  await using origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
  const client = await openConnect(lab, host);
  expect(await readUntil(client, "ready\n")).toBe("220 ready\n");
  client.end("half");
  expect(await readUntil(client, "bye")).toBe("bye");
  expect(await lab.recorded((row) => row.verdict === "allowed")).toMatchObject({ sentBytes: 4, receivedBytes: 13 });
});

it("refuses a CONNECT to an address if only its name is allowed", async () => {
  await using origin = await openOrigin(greeter());
  await using lab = await openEgressLab({ policy: { allow: [`good.test:${origin.port}`] }, names: NAMES });
  await expect(openConnect(lab, `127.0.0.1:${origin.port}`)).rejects.toThrow(/403[^]*no-rule/);
  await expect(openConnect(lab, "nonsense")).rejects.toThrow(/400[^]*bad-request/);
});

it("reads plain HTTP in a tunnel, one request at a time", async () => {
  await using origin = await openOrigin(createHttpServer((request, response) => response.end(`${request.url} of ${request.headers.host}`)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`GET http://${host}/open`] }, names: NAMES });
  const client = await openConnect(lab, host);
  client.write(`GET /open/1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(await readUntil(client, host)).toContain("/open/1 of");
  client.write(`GET /closed HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(await readUntil(client, "--allow")).toContain("x-belljar-error: no-rule");
  expect(await converse(client, "GET /open HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n")).toContain("host-mismatch");
  expect(lab.records).toMatchObject([{ verdict: "allowed", via: "connect" }, { reason: "no-rule" }, { reason: "host-mismatch" }]);
});

it("reads TLS to a secret's host, fills the placeholder and masks the value that comes back", async () => {
  let seen = "";
  const server = createHttpsServer(tlsOptions, (request, response) => {
    seen = request.headers.authorization ?? "";
    response.setHeader("x-echo", seen);
    response.end(`you sent ${seen}`);
  });
  await using origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({
    policy: { allow: [host] },
    names: NAMES,
    guard: openGuard([host]),
    upstreamCa: [OUTSIDE.certificatePem],
  });
  const client = await secure(await openConnect(lab, host), { servername: "good.test", ca: INSIDE.certificatePem });
  client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${PLACEHOLDER}\r\nConnection: close\r\n\r\n`);
  const answer = await readUntil(client, "\r\n0\r\n\r\n");
  expect(seen).toBe(`Bearer ${VALUE}`);
  expect(answer).toContain("200 OK");
  expect(answer).not.toContain(VALUE);
  expect(lab.records).toMatchObject([{ verdict: "allowed", host: "good.test", via: "connect" }]);
});

it("reads TLS for a rule with a path, and verifies the real server's name", async () => {
  const server = createHttpsServer(
    { ...tlsOptions, SNICallback: (_name, done) => done(null, certificates.contextFor("wrong.test")) },
    (_request, response) => response.end(),
  );
  await using origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  const lab = await openEgressLab({
    policy: { allow: [`https://${host}/v1`] },
    names: NAMES,
    guard: openGuard([]),
    upstreamCa: [OUTSIDE.certificatePem],
  });
  await using _closed = lab;
  const ask = async (path: string): Promise<string> => {
    const client = await secure(await openConnect(lab, host), { servername: "good.test", ca: INSIDE.certificatePem });
    client.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return readUntil(client, "\r\n\r\nBelljar:");
  };
  expect(await ask("/v1")).toContain("x-belljar-error: bad-certificate");
  expect(await ask("/v2")).toContain("x-belljar-error: no-rule");
});

it("refuses a placeholder to any other host, in a head, a body or raw bytes", async () => {
  await using origin = await openOrigin(createHttpServer((request, response) => request.resume().on("end", () => response.end("got it"))));
  await using raw = await openOrigin(createTcpServer((socket) => socket.resume()));
  const [host, bare] = [`good.test:${origin.port}`, `other.test:${raw.port}`];
  await using lab = await openEgressLab({ policy: { allow: [host, bare] }, names: NAMES, guard: openGuard(["api.test"]) });
  const head = await converse(
    await lab.proxy(),
    `GET http://${host}/?k=${PLACEHOLDER} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  );
  expect(head).toContain("x-belljar-error: placeholder");
  const body = `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: ${PLACEHOLDER.length}\r\n\r\n${PLACEHOLDER}`;
  expect(await converse(await lab.proxy(), body)).toContain("x-belljar-error: placeholder");
  const tunnel = await openConnect(lab, bare);
  tunnel.write(PLACEHOLDER.slice(0, 9));
  tunnel.write(PLACEHOLDER.slice(9));
  await readUntil(tunnel, "never").catch(() => {});
  expect(lab.records.map((row) => row.reason)).toEqual(["placeholder", "placeholder", "placeholder"]);
});

it("opens no tunnel inside a tunnel", async () => {
  const host = "good.test:8080";
  await using lab = await openEgressLab({ policy: { allow: [`GET http://${host}/a`] }, names: NAMES });
  const answer = await converse(await openConnect(lab, host), `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(answer).toContain("x-belljar-error: bad-request");
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "bad-request" }]);
});

it("refuses a request in a tunnel whose path is none", async () => {
  const host = "good.test:8080";
  await using lab = await openEgressLab({ policy: { allow: [`GET http://${host}/a`] }, names: NAMES });
  const answer = await converse(await openConnect(lab, host), `GET a HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(answer).toContain("x-belljar-error: bad-request");
});

it("tells the program inside nothing of an internal error", async () => {
  await using origin = await openOrigin(createHttpServer((_request, response) => response.end()));
  const host = `good.test:${origin.port}`;
  const broken: SecretGuard = { ...openGuard([host]), fillRequest: () => Promise.reject(new TypeError("the reason")) };
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES, guard: broken });
  const answer = await converse(await lab.proxy(), `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(answer).toContain("x-belljar-error: internal");
  expect(answer).not.toContain("the reason");
});

it("reports an internal error, which ends only its own connection", async () => {
  const faults: unknown[] = [];
  await using origin = await openOrigin(createHttpsServer(tlsOptions, (_request, response) => response.end()));
  const host = `good.test:${origin.port}`;
  const broken: SecretGuard = {
    ...openGuard([host]),
    terminates: () => true,
    certificateFor: () => Promise.reject(new TypeError("broken")),
  };
  await using lab = await openEgressLab({
    policy: { allow: [host] },
    names: NAMES,
    guard: broken,
    onFault: (error, sandbox) => void faults.push([String(error), sandbox]),
  });
  await expect(secure(await openConnect(lab, host), { servername: "good.test" })).rejects.toThrow(/alert|closed|reset/i);
  expect(faults).toEqual([["TypeError: broken", LAB_SANDBOX]]);
  expect(lab.records).toMatchObject([{ verdict: "failed", reason: "internal" }]);
});

it("closes connections that a new policy forbids, and no others", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.pipe(socket)));
  const [one, two] = [`good.test:${origin.port}`, `other.test:${origin.port}`];
  await using lab = await openEgressLab({ policy: { allow: [one, two] }, names: NAMES });
  const [first, second] = [await openConnect(lab, one), await openConnect(lab, two)];
  for (const client of [first, second]) {
    client.write("ping");
    await readUntil(client, "ping");
  }
  const closed = once(first.resume(), "end");
  lab.update({ policy: { allow: [two] } });
  await closed;
  expect(lab.records).toMatchObject([{ host: "good.test", verdict: "refused", reason: "policy-changed" }]);
  second.write("still");
  expect(await readUntil(second, "still")).toBe("still");
  await expect(openConnect(lab, one)).rejects.toThrow("no-rule");
});

it("closes connections to private addresses when their exact rule is removed", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.pipe(socket)));
  const host = `inner.good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "inner.good.test": ["127.0.0.1"] } });
  const client = await openConnect(lab, host);
  client.write("ping");
  await readUntil(client, "ping");
  const closed = once(client.resume(), "end");
  lab.update({ policy: { allow: [`*.good.test:${origin.port}`] } });
  await closed;
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "policy-changed" }]);
  await expect(openConnect(lab, host)).rejects.toThrow("private-address");
});

it("reuses no kept connection to a private address after such a change", async () => {
  await using origin = await openOrigin(createHttpServer((_request, response) => response.end("inner")));
  const host = `inner.good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "inner.good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  const request = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  client.write(request);
  await readUntil(client, "inner");
  await lab.recorded((row) => row.verdict === "allowed");
  lab.update({ policy: { allow: [`*.good.test:${origin.port}`] } });
  client.write(request);
  expect(await readUntil(client, "private-address")).toContain("403");
});

it("closes everything when the sandbox ends", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.pipe(socket)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
  const client = await openConnect(lab, host);
  client.write("ping");
  await readUntil(client, "ping");
  lab.inside.end();
  expect(await lab.recorded(() => true)).toMatchObject({ verdict: "allowed", sentBytes: 4 });
  expect(lab.inside.listening()).toEqual([]);
});

it("names a port in Host unless it is the port of the scheme", async () => {
  const hosts: unknown[] = [];
  const guard: SecretGuard = {
    ...openGuard([]),
    fillRequest(_target, { headers }) {
      hosts.push(headers["host"]);
      return Promise.reject(new TypeError("nothing is sent here"));
    },
  };
  const ports = [80, 443, 8080];
  await using lab = await openEgressLab({ policy: { allow: ports.map((port) => `http://good.test:${port}`) }, names: NAMES, guard });
  for (const port of ports)
    await converse(await lab.proxy(), `GET http://good.test:${port}/ HTTP/1.1\r\nHost: good.test:${port}\r\nConnection: close\r\n\r\n`);
  expect(hosts).toEqual(["good.test", "good.test:443", "good.test:8080"]);
});
