import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { PortLink } from "../../src/network/ports/port-link.ts";
import { portUrls } from "../../src/network/ports/port-urls.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { createCallProbe } from "../support/call-probe.ts";
import { askPort, hostOf, startInside, tokenOf } from "../support/port-lab.ts";
import { useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";
import { byName } from "../support/by-name.ts";

const lab = useLab();
const PORT = 8000;
const soon = (): AbortSignal => AbortSignal.timeout(50_000);

/** Headers with which a program tries to reach beyond its port. */
const STEERING = {
  "clear-site-data": '"*"',
  "strict-transport-security": "max-age=31536000; includeSubDomains",
  "alt-svc": 'h3=":443"',
  "service-worker-allowed": "/",
  "report-to": "{}",
  nel: "{}",
  "x-accel-redirect": "/etc/passwd",
};
const COOKIES = ["stolen=1; Path=/; Domain=localhost", "belljar-port=mine; Path=/"];

/** Says what came, counts what came, and answers with all that it should not. */
const PROGRAM = `
let count = 0;
require("node:http").createServer((request, response) => {
  count += 1;
  response.writeHead(200, { ...${JSON.stringify(STEERING)}, "set-cookie": ${JSON.stringify(COOKIES)}, "content-security-policy": "default-src *" });
  response.end(JSON.stringify({ count, headers: request.headers }));
}).listen(${PORT}, "127.0.0.1", () => console.log("ready"));
`;

/** A gateway over real sandboxes, one of which serves the program. */
async function openSite() {
  const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 600_000 };
  const sandboxes = createLocalSandboxes({ home: lab.home, runtimes: byName(lab.runtime), config });
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes,
    tools: createCallProbe().tools,
    isolation: async () => lab.isolation,
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const origin = await gateway.listen();
  const sandbox = await sandboxes.create(LOCAL, { ephemeral: true }, soon());
  await startInside(sandbox.guest, ["node", "-e", PROGRAM], soon());
  const link = await sandbox.registerPort(PORT, "token");
  return {
    origin,
    sandbox,
    link,
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await sandbox.kill();
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

interface Seen {
  readonly count: number;
  readonly headers: IncomingHttpHeaders;
}

type Site = { readonly origin: URL; readonly link: PortLink; readonly sandbox: Sandbox };
const byPath = ({ link }: Site): string => `/ports/${link.sandbox}/${link.port}/`;

/** A program of the host that tells what it was sent, as another server of this machine would see it. */
async function openNeighbour(): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    response.setHeader("set-cookie", "session=dashboard; Path=/; HttpOnly");
    response.end(request.headers.cookie ?? "none");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

verifies("ports-need-their-link", async () => {
  await using neighbour = await openNeighbour();
  expect((await fetch(neighbour.url)).status).toBe(200);
  await using site = await openSite();
  const { origin, link } = site;
  const wrong = { "belljar-port-token": "T".repeat(43) };
  const asked = [
    { host: hostOf(link) },
    { host: hostOf(link), headers: wrong },
    { host: `${PORT + 1}-${link.sandbox}.localhost`, headers: tokenOf(link) },
    { host: `${PORT}-${"z".repeat(20)}.localhost`, headers: tokenOf(link) },
    { path: byPath(site) },
    { path: `${byPath(site)}~${"T".repeat(43)}/` },
  ];
  const answers = await Promise.all(asked.map((one) => askPort(origin, one)));
  const words = answers.map(({ status, text }) => `${status} ${text.replace(/"requestId":"[^"]+"/, "")}`);
  expect([...new Set(words)]).toEqual([expect.stringMatching(/^401 .*PORT_LINK_INVALID/)]);
  expect((JSON.parse((await askPort(origin, { host: hostOf(link), headers: tokenOf(link) })).text) as Seen).count).toBe(1);
});

verifies("port-pages-apart", async () => {
  await using site = await openSite();
  const { origin, link } = site;
  const list = { path: "/v1/sandboxes" };
  expect((await askPort(origin, list)).status).toBe(200);
  const { url, pathUrl } = portUrls(origin, link);
  expect(new URL(url).hostname).not.toBe(origin.hostname);
  for (const page of [new URL(url).origin, "null", "http://127.0.0.1:1"]) {
    expect((await askPort(origin, { ...list, headers: { origin: page } })).status).toBe(403);
    expect((await askPort(origin, { path: "/mcp", method: "POST", headers: { origin: page } })).status).toBe(403);
  }
  const moved = await askPort(origin, { path: new URL(pathUrl).pathname + new URL(pathUrl).search });
  const page = await askPort(origin, { path: moved.headers.location ?? "" });
  expect(page.headers["content-security-policy"]).toMatch(/, sandbox (?!.*allow-same-origin)/);
  expect((await askPort(origin, { host: hostOf(link), path: "/v1/sandboxes" })).status).toBe(401);
});

verifies("port-cookies-apart", async () => {
  await using neighbour = await openNeighbour();
  await using other = await openNeighbour();
  const jar = join(lab.home, "jar");
  const curl = async (url: string): Promise<string> => (await outside(["curl", "-sL", "--noproxy", "*", "-b", jar, "-c", jar, url])).out;
  await curl(neighbour.url);
  expect(await curl(other.url)).toContain("session=dashboard");
  await using site = await openSite();
  const { url, pathUrl } = portUrls(site.origin, site.link);
  for (const first of [pathUrl, url]) {
    await curl(first);
    const { headers } = JSON.parse(await curl(new URL("again", first).href)) as Seen;
    expect(headers.cookie).toBe("stolen=1");
  }
  expect(await curl(neighbour.url)).toBe("session=dashboard");
});

verifies("port-answers-harmless", async () => {
  await using site = await openSite();
  const inside = await site.sandbox.guest.run({ argv: ["curl", "-si", "--noproxy", "*", `http://127.0.0.1:${PORT}/`], signal: soon() });
  for (const name of Object.keys(STEERING)) expect(inside.stdout.toString().toLowerCase()).toContain(`${name}:`);
  for (const asked of [{ host: hostOf(site.link) }, { path: byPath(site) }]) {
    const { status, headers } = await askPort(site.origin, { ...asked, headers: tokenOf(site.link) });
    expect(status).toBe(200);
    expect(Object.keys(headers).filter((name) => name in STEERING)).toEqual([]);
    expect(headers["set-cookie"]?.join()).not.toMatch(/domain|belljar/i);
  }
});

verifies("port-requests-plain", async () => {
  await using site = await openSite();
  const head = `Host: ${hostOf(site.link)}\r\nBelljar-Port-Token: ${site.link.token}\r\n`;
  const hidden = `GET /hidden HTTP/1.1\r\n${head}\r\n`;
  const say = async (text: string): Promise<string> => {
    const socket = connect(Number(site.origin.port), "127.0.0.1");
    socket.write(text);
    const chunks: Buffer[] = [];
    for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  const attacks = [
    `POST / HTTP/1.1\r\n${head}Content-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    `POST / HTTP/1.1\r\n${head}Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    `POST / HTTP/1.1\r\n${head}Connection: close\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n${hidden}`,
    `GET / HTTP/1.1\r\n${head}Host: other\r\nConnection: close\r\n\r\n`,
    `GET / HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  ];
  for (const attack of attacks) expect(await say(attack)).toMatch(/^HTTP\/1\.1 400 /);
  const plain = await askPort(site.origin, { host: hostOf(site.link), headers: tokenOf(site.link) });
  expect((JSON.parse(plain.text) as Seen).count).toBe(1);
});
