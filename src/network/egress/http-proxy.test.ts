import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { expect, it } from "vitest";
import { converse, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";

const hello = () => createServer((request, response) => response.end(`${request.method} ${request.url} ${request.headers.host}`));
const get = (url: string, host: string, more = ""): string => `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`;

it("sends a request to a host that a rule names, and records it", async () => {
  await using origin = await openOrigin(hello());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const answer = await converse(await lab.proxy(), get(`http://${host}/a?b=c`, host));
  expect(answer).toContain("200 OK");
  expect(answer).toContain(`GET /a?b=c ${host}`);
  expect(await lab.recorded((row) => row.verdict === "allowed")).toMatchObject({
    via: "http",
    host: "good.test",
    port: origin.port,
    address: "127.0.0.1",
    rule: host,
    owner: "local",
  });
});

it("refuses a host that no rule names, and names the missing rule", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] } });
  const answer = await converse(await lab.proxy(), get("http://bad.test:81/", "bad.test:81"));
  expect(answer).toContain("403 Forbidden (Belljar: the missing rule is bad.test:81)");
  expect(answer).toContain("x-belljar-error: no-rule");
  expect(answer).toMatch(/belljar sandbox network [a-z0-9]{20} --allow bad\.test:81/);
  expect(await lab.recorded((row) => row.host === "bad.test")).toMatchObject({ verdict: "refused", reason: "no-rule" });
});

it("uses one connection to the origin for all requests of one connection", async () => {
  let connections = 0;
  await using origin = await openOrigin(hello().on("connection", () => (connections += 1)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  client.write(`GET http://${host}/1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(client, "data");
  await lab.recorded((row) => row.verdict === "allowed");
  expect(await converse(client, get(`http://${host}/2`, host))).toContain("GET /2");
  expect(connections).toBe(1);
  expect(lab.records.map(({ address }) => address)).toEqual(["127.0.0.1", "127.0.0.1"]);
});

it("keeps no connection to the origin that was opened under an earlier policy", async () => {
  let connections = 0;
  await using origin = await openOrigin(hello().on("connection", () => (connections += 1)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  client.write(`GET http://${host}/1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await readUntil(client, `/1 ${host}`);
  await lab.recorded((row) => row.verdict === "allowed");
  lab.update({ policy: { allow: [host, "more.test"] } });
  expect(await converse(client, get(`http://${host}/2`, host))).toContain("GET /2");
  expect(connections).toBe(2);
});

it("removes hop-by-hop headers and those that Connection names, in both directions", async () => {
  const origin = createServer((request, response) => {
    const headers = {
      Connection: "x-theirs",
      "X-Theirs": "1",
      "Proxy-Authentication-Info": "x",
      "Keep-Alive": "timeout=99",
      "X-Kept": "yes",
    };
    response.writeHead(200, headers).end(JSON.stringify(request.headers));
  });
  await using server = await openOrigin(origin);
  const host = `good.test:${server.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const lines = [
    "Connection: close, X-Ours, cookie",
    "X-Ours: 1",
    "Cookie: a=b",
    "Proxy-Authorization: Basic eA==",
    "TE: gzip",
    "X-Kept: yes",
  ];
  const answer = await converse(await lab.proxy(), `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${lines.join("\r\n")}\r\n\r\n`);
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head.toLowerCase()).toContain("x-kept: yes");
  expect(head.toLowerCase()).not.toMatch(/x-theirs|proxy-authentication-info|timeout=99/);
  const seen = JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)) as Record<string, string>;
  expect(seen).toMatchObject({ host, "x-kept": "yes" });
  for (const name of ["x-ours", "cookie", "proxy-authorization", "te"]) expect(seen).not.toHaveProperty(name);
});

it("streams bodies both ways", async () => {
  await using origin = await openOrigin(createServer((request, response) => request.pipe(response)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  client.write(`POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n`);
  const [first] = (await once(client, "data")) as [Buffer];
  expect(first.toString()).toContain("200 OK");
  expect(await converse(client, "3\r\ndef\r\n0\r\n\r\n")).toContain("def");
});

it.each([
  ["both lengths", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"],
  ["two lengths", "Content-Length: 3\r\nContent-Length: 4\r\n"],
  ["a bare line feed in a header", "X: a\nHost: other.test\r\n"],
  ["a folded header", "X: a\r\n b\r\n"],
  ["a space before the colon", "Host : other.test\r\n"],
])("refuses a request with %s", async (_name, header) => {
  await using lab = await openEgressLab({ policy: "all" });
  const answer = await converse(await lab.proxy(), `POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n${header}\r\nabc`);
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  expect(lab.records).toMatchObject([{ verdict: "refused" }]);
});

it("serves HTTP/1.0, which needs no Host", async () => {
  await using origin = await openOrigin(hello());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  expect(await converse(await lab.proxy(), `GET http://${host}/old HTTP/1.0\r\n\r\n`)).toContain(`GET /old ${host}`);
});

it.each(["GET", "HEAD", "OPTIONS"])("sends a %s again if the origin closed the kept connection meanwhile", async (method) => {
  let connections = 0;
  const origin = createTcpServer((socket) => {
    connections += 1;
    let requests = 0;
    socket.on("data", () => {
      requests += 1;
      if (requests === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      else socket.destroy();
    });
  });
  await using server = await openOrigin(origin);
  const host = `good.test:${server.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  client.write(`${method} http://${host}/1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(await readUntil(client, "\r\n\r\n")).toContain("200 OK");
  expect(await converse(client, `${method} http://${host}/2 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toContain("200 OK");
  expect(connections).toBe(2);
});

it("answers pipelined requests even if the origin closes after each answer", async () => {
  let connections = 0;
  const origin = createServer((request, response) => response.setHeader("Connection", "close").end(request.url));
  await using server = await openOrigin(origin.on("connection", () => (connections += 1)));
  const host = `good.test:${server.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const lines = [1, 2, 3].map((number) => `GET http://${host}/${number} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const answer = await converse(await lab.proxy(), `${lines.join("")}${get(`http://${host}/last`, host)}`);
  expect(answer).toMatch(/\/1[^]*\/2[^]*\/3[^]*\/last/);
  expect(connections).toBe(4);
});

it("refuses a second Host, and one that is not the host asked for", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] } });
  for (const hosts of ["Host: bad.test\r\n", "Host: good.test\r\nHost: bad.test\r\n"]) {
    const answer = await converse(await lab.proxy(), `GET http://good.test/ HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
    expect(answer).toContain("x-belljar-error: host-mismatch");
  }
});

it("refuses HTTP/2 with prior knowledge", async () => {
  await using lab = await openEgressLab({ policy: "all" });
  const answer = await converse(await lab.proxy(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  expect(answer).toContain("x-belljar-error: http2");
  expect(lab.records).toMatchObject([{ reason: "http2" }]);
});

it("refuses a name of 300 characters", async () => {
  await using lab = await openEgressLab({ policy: "all" });
  const name = `${"a".repeat(296)}.com`;
  expect(await converse(await lab.proxy(), get(`http://${name}/`, name))).toContain("x-belljar-error: bad-request");
  expect(await converse(await lab.proxy(), `CONNECT ${name}:443 HTTP/1.1\r\n\r\n`)).toContain("x-belljar-error: bad-request");
});

it.each([
  "127.0.0.1",
  "2130706433",
  "0x7f.1",
  "0177.0.0.1",
  "[::ffff:127.0.0.1]",
  "[::1]",
  "169.254.169.254",
  "10.0.0.1",
  "[fd00:ec2::254]",
  "0.0.0.0",
  "198.18.0.1",
  "192.0.2.1",
  "[2001:db8::1]",
])("refuses the address %s though all is allowed", async (address) => {
  await using lab = await openEgressLab({ policy: "all" });
  expect(await converse(await lab.proxy(), get(`http://${address}/`, address))).toContain("x-belljar-error: private-address");
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "private-address" }]);
});

it("refuses a name with a private address, and a name with public and private addresses", async () => {
  const names = { "inner.test": ["10.0.0.1"], "both.test": ["93.184.215.14", "127.0.0.1"], "meta.test": ["169.254.169.254"] };
  await using lab = await openEgressLab({ policy: { allow: ["inner.test", "both.test", "both.test:81", "meta.test:80"] }, names });
  const ask = async (host: string): Promise<string> => converse(await lab.proxy(), get(`http://${host}/`, host));
  expect(await ask("inner.test")).toContain("x-belljar-error: private-address");
  expect(await ask("both.test")).toContain("x-belljar-error: mixed-addresses");
  expect(await ask("both.test:81")).toContain("x-belljar-error: mixed-addresses");
  expect(await ask("inner.test")).toContain("--allow inner.test:80");
  // The name has a rule already, so the advice differs.
  expect(await ask("meta.test")).toMatch(/x-belljar-error: private-address[^]*A rule for the address itself/);
});

it("resolves a name once", async () => {
  await using origin = await openOrigin(hello());
  const host = `rebind.test:${origin.port}`;
  const names: Record<string, readonly string[]> = { "rebind.test": ["127.0.0.1"] };
  await using lab = await openEgressLab({ policy: { allow: [host] }, names });
  expect(await converse(await lab.proxy(), get(`http://${host}/`, host))).toContain("200 OK");
  names["rebind.test"] = ["169.254.169.254"];
  expect(await converse(await lab.proxy(), get(`http://${host}/`, host))).toContain("200 OK");
});

it("reports why a host cannot be reached", async () => {
  const origin = await openOrigin(createTcpServer());
  const host = `gone.test:${origin.port}`;
  await origin[Symbol.asyncDispose]();
  await using lab = await openEgressLab({ policy: { allow: [host, "none.test"] }, names: { "gone.test": ["127.0.0.1"] } });
  const refused = await converse(await lab.proxy(), get(`http://${host}/`, host));
  expect(refused).toContain("502 Bad Gateway");
  expect(refused).toContain("x-belljar-error: connection-refused");
  expect(await converse(await lab.proxy(), get("http://none.test/", "none.test"))).toContain("x-belljar-error: no-address");
  expect(lab.records).toMatchObject([{ verdict: "failed" }, { verdict: "failed" }]);
});

it("answers for a server that resets the connection, and for one that never answers", async () => {
  await using resets = await openOrigin(createTcpServer((socket) => socket.once("data", () => socket.resetAndDestroy())));
  await using silent = await openOrigin(createTcpServer());
  const [one, two] = [`reset.test:${resets.port}`, `silent.test:${silent.port}`];
  const names = { "reset.test": ["127.0.0.1"], "silent.test": ["127.0.0.1"] };
  await using lab = await openEgressLab({ policy: { allow: [one, two] }, names, limits: { idleMs: 200 } });
  expect(await converse(await lab.proxy(), get(`http://${one}/`, one))).toContain("x-belljar-error: reset");
  expect(await converse(await lab.proxy(), get(`http://${two}/`, two))).toContain("x-belljar-error: timed-out");
  expect(lab.records).toMatchObject([{ reason: "reset" }, { reason: "timed-out" }]);
});

it("closes a connection that sends half a request", async () => {
  await using lab = await openEgressLab({ policy: "all", limits: { headMs: 100 } });
  expect(await converse(await lab.proxy(), "GET http://good.test/ HTTP/1.1\r\nHost")).toContain("408");
  expect(lab.records).toMatchObject([{ reason: "too-slow" }]);
});

it("forwards an upgrade to a WebSocket, and carries both directions", async () => {
  const server = createServer();
  server.on("upgrade", (request: IncomingMessage, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Host: ${request.headers.host}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  await using origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  client.write(`GET http://${host}/ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const [head] = (await once(client, "data")) as [Buffer];
  expect(head.toString()).toContain("101 Switching");
  client.write("echo");
  expect(String((await once(client, "data"))[0])).toBe("echo");
  client.end();
  expect(await lab.recorded((row) => row.verdict === "allowed")).toMatchObject({ host: "good.test" });
});

it("judges the method and the path of a request, and sends the judged path", async () => {
  await using origin = await openOrigin(hello());
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`GET http://${host}/v1`] }, names: { "good.test": ["127.0.0.1"] } });
  const ask = async (path: string): Promise<string> => converse(await lab.proxy(), get(`http://${host}${path}`, host));
  expect(await ask("/v1/./a//b?q=../x")).toContain(`GET /v1/a/b?q=../x ${host}`);
  for (const path of ["/v2", "/v10", "/v1/../v2", "/v1/%2e%2e/v2", "//v2"]) expect(await ask(path)).toContain("x-belljar-error: no-rule");
  for (const path of ["/v1/%2f..", "/v1/a%5cb", "/v1/%252e", "/v1/..;/v2", "/v1/%2e%2e;a/v2", "/v1/..%3b/v2", "/v1/%c0%ae%c0%ae/v2"])
    expect(await ask(path)).toContain("x-belljar-error: ambiguous-path");
  const post = await converse(await lab.proxy(), `POST http://${host}/v1 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(post).toContain("x-belljar-error: no-rule");
});

it.each(["X-HTTP-Method-Override: DELETE", "X_Original_URL: /closed"])(
  "refuses a header that turns a judged request into another one: %s",
  async (header) => {
    await using origin = await openOrigin(hello());
    const host = `good.test:${origin.port}`;
    const names = { "good.test": ["127.0.0.1"] };
    await using lab = await openEgressLab({ policy: { allow: [`GET http://${host}/open`] }, names });
    const request = get(`http://${host}/open`, host, `${header}\r\n`);
    expect(await converse(await lab.proxy(), request)).toContain("x-belljar-error: bad-request");
    lab.update({ policy: { allow: [host] } });
    expect(await converse(await lab.proxy(), request)).toContain("200 OK");
  },
);
