import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { WebSocket as WebSocketClient } from "ws";
import { listListening } from "../../src/network/ports/listening-ports.ts";
import type { PortLink } from "../../src/network/ports/port-link.ts";
import { portUrls } from "../../src/network/ports/port-urls.ts";
import type { Box } from "../security/support/lab.ts";
import { useLab } from "../security/support/lab.ts";
import type { PortLab } from "../support/port-lab.ts";
import { askPort, hostOf, openAnswer, openPortLab, startInside, tokenOf } from "../support/port-lab.ts";

const run = promisify(execFile);
const lab = useLab();
const soon = (): AbortSignal => AbortSignal.timeout(50_000);
const PORT = 8_000;

const idOf = (box: Box): string => box.running.id;
const dialOf =
  ({ guest }: Box) =>
  (port: number, signal: AbortSignal): Promise<Duplex> =>
    guest.dial(port, signal);

const PYTHON = `
import http.server, functools
class Handler(http.server.SimpleHTTPRequestHandler):
    pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", ${PORT}), functools.partial(Handler, directory="/home/user/site"))
print("ready", flush=True)
server.serve_forever()
`;

/** Echoes uploads as their digest, streams events, keeps connections, and takes any upgrade as an echo. */
const NODE = `
const http = require("node:http"), crypto = require("node:crypto");
let connections = 0;
const server = http.createServer((request, response) => {
  if (request.url === "/upload") {
    const hash = crypto.createHash("sha256");
    let size = 0;
    request.on("data", (chunk) => { hash.update(chunk); size += chunk.length; });
    request.on("end", () => response.end(JSON.stringify({ size, digest: hash.digest("hex") })));
  } else if (request.url === "/events") {
    process.once("SIGUSR1", () => response.write("data: one\\n\\n"));
    response.on("close", () => { closed = true; events.emit("closed"); });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
  } else if (request.url === "/until-closed") { if (closed) response.end("closed"); else events.once("closed", () => response.end("closed")); }
  else if (request.url === "/hang") response.writeHead(200).write("begun");
  else if (request.url === "/big") { const chunk = Buffer.alloc(1 << 20); let n = 0; const more = () => { while (n++ < 100) if (!response.write(chunk)) return response.once("drain", more); response.end(); }; more(); }
  else if (request.url === "/connections") response.end(String(connections));
  else response.end(JSON.stringify({ url: request.url, headers: request.headers }));
});
let closed = false;
const events = new (require("node:events"))();
server.on("connection", () => { connections += 1; });
server.on("upgrade", (request, socket, head) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: " + request.headers.upgrade + "\\r\\n\\r\\n");
  socket.on("error", () => {});
  socket.write(head);
  socket.pipe(socket);
});
server.listen(${PORT}, "127.0.0.1", () => console.log("ready"));
`;

async function serveNode(ports: PortLab, box: Box): Promise<PortLink> {
  await startInside(box.guest, ["node", "-e", NODE], soon());
  return ports.link(idOf(box), PORT, { dial: dialOf(box) });
}

/** A raw upgrade, as a browser's WebSocket begins. */
async function openUpgrade(ports: PortLab, link: PortLink, early = ""): Promise<{ readonly socket: Socket; readonly head: string }> {
  const socket = connect(Number(ports.origin.port), ports.origin.hostname);
  const head = `GET /socket HTTP/1.1\r\nHost: ${hostOf(link)}\r\nConnection: Upgrade\r\nUpgrade: echo\r\nBelljar-Port-Token: ${link.token}\r\n\r\n`;
  socket.write(head + early);
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return { socket, head: chunk.toString() };
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Serves a WebSocket with the library that this test's client is of, which the sandbox is given. */
async function serveSocket(ports: PortLab, box: Box): Promise<PortLink> {
  const folder = dirname(createRequire(import.meta.url).resolve("ws/package.json"));
  const files = ["package.json", "index.js", ...readdirSync(join(folder, "lib")).map((name) => `lib/${name}`)];
  for (const name of files) await box.guest.files.write(`/home/user/ws/${name}`, readFileSync(join(folder, name)), { signal: soon() });
  const program = `const { WebSocketServer } = require("/home/user/ws");
const server = new WebSocketServer({ host: "127.0.0.1", port: ${PORT} }, () => console.log("ready"));
server.on("connection", (socket, request) => socket.on("message", (message) => socket.send("echo " + message + " at " + request.url)));`;
  await startInside(box.guest, ["node", "-e", program], soon());
  return ports.link(idOf(box), PORT, { dial: dialOf(box) });
}

describe("a port of a sandbox", () => {
  it("serves the files of python's own server", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    await box.guest.files.write("/home/user/site/index.html", "<h1>hello</h1>", { signal: soon() });
    await startInside(box.guest, ["python3", "-c", PYTHON], soon());
    const link = ports.link(idOf(box), PORT, { dial: dialOf(box) });
    expect(await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link) })).toMatchObject({
      status: 200,
      text: "<h1>hello</h1>",
    });
    const byPath = await askPort(ports.origin, { path: `/ports/${idOf(box)}/${PORT}/~${link.token}/index.html` });
    expect(byPath).toMatchObject({ status: 200, text: "<h1>hello</h1>" });
    expect(ports.failures).toEqual([]);
  });

  it("opens in curl as in a browser: the first visit leaves a cookie", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const jar = join(lab.home, "jar");
    const { url, pathUrl } = portUrls(ports.origin, link);
    const plain = async (...args: string[]): Promise<string> => (await run("curl", ["-s", "--noproxy", "*", ...args])).stdout;
    const curl = (...args: string[]): Promise<string> => plain("-b", jar, "-c", jar, ...args);
    expect(JSON.parse(await curl("-L", `${url}&x=1`))).toMatchObject({ url: "/?x=1" });
    expect(JSON.parse(await curl(new URL("/again", url).href))).toMatchObject({ url: "/again" });
    expect(JSON.parse(await curl("-L", pathUrl))).toMatchObject({ url: "/" });
    expect(JSON.parse(await curl(new URL("again", pathUrl).href))).toMatchObject({ url: "/again" });
    expect(await plain("-o", "/dev/null", "-w", "%{http_code}", new URL("/again", url).href)).toBe("401");
  });

  it("keeps a connection for the next request", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const ask = (): Promise<{ text: string }> =>
      askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link), path: "/connections" });
    expect([(await ask()).text, (await ask()).text, (await ask()).text]).toEqual(["1", "1", "1"]);
  });

  it("takes an upload of 100 MB as it comes", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const chunk = randomBytes(1024 * 1024);
    const hash = createHash("sha256");
    const asked = request({
      host: ports.origin.hostname,
      port: ports.origin.port,
      method: "POST",
      path: "/upload",
      headers: { host: hostOf(link), ...tokenOf(link) },
    });
    const answer = once(asked, "response") as Promise<[IncomingMessage]>;
    for (let count = 0; count < 100; count += 1) {
      hash.update(chunk);
      if (!asked.write(chunk)) await once(asked, "drain");
    }
    asked.end();
    const [response] = await answer;
    expect(JSON.parse((await readAll(response)).toString())).toEqual({ size: 100 * chunk.length, digest: hash.digest("hex") });
  });

  it("holds a download back while nobody reads it", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const before = process.memoryUsage().arrayBuffers;
    const answer = await openAnswer(ports.origin, { host: hostOf(link), headers: tokenOf(link), path: "/big" });
    await once(answer, "readable");
    // Another exchange on the same port goes on meanwhile.
    expect((await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link), path: "/connections" })).text).toBe("2");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 1024 * 1024);
    expect((await readAll(answer)).length).toBe(100 * 1024 * 1024);
  });

  it("passes each server-sent event as it is sent, and the reader's going", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const answer = await openAnswer(ports.origin, { host: hostOf(link), headers: tokenOf(link), path: "/events" });
    expect(answer.headers["content-type"]).toBe("text/event-stream");
    await box.run(["pkill", "-USR1", "node"]);
    const [event] = (await once(answer, "data")) as [Buffer];
    expect(event.toString()).toBe("data: one\n\n");
    answer.destroy();
    expect((await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link), path: "/until-closed" })).text).toBe("closed");
  });

  it("carries what follows an upgrade both ways, and its end", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const { socket, head } = await openUpgrade(ports, link);
    expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n/);
    const echoed = readAll(socket);
    socket.end(Buffer.alloc(1_000_000, "x"));
    expect((await echoed).length).toBe(1_000_000);
  });

  it("serves a WebSocket", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveSocket(ports, box);
    const own = { host: hostOf(link) };
    const ways = [
      ["/", { ...own, ...tokenOf(link) }],
      [`/ports/${idOf(box)}/${PORT}/~${link.token}/`, {}],
      // Its token in the query, as of a page: nobody who opens a WebSocket follows a redirect. The program does not see it.
      [`/seen?belljar_token=${link.token}&a=b`, own],
      [`/ports/${idOf(box)}/${PORT}/seen?belljar_token=${link.token}&a=b`, {}],
    ] as const;
    for (const [path, headers] of ways) {
      const url = `ws://${ports.origin.host}${path}`;
      const socket = new WebSocketClient(url, { headers });
      await once(socket, "open");
      socket.send("hello");
      const [message] = (await once(socket, "message")) as [Buffer];
      expect(message.toString()).toBe(`echo hello at ${path.includes("seen") ? "/seen?a=b" : "/"}`);
      socket.close(1000);
      const [code] = await once(socket, "close");
      expect(code).toBe(1000);
    }
    const wrong = new WebSocketClient(`ws://${ports.origin.host}/?belljar_token=${"T".repeat(43)}`, { headers: own });
    const [refusal] = (await once(wrong, "error")) as [Error];
    expect(refusal.message).toContain("401");
  });

  it("is the port of its own sandbox, whichever other has one of that number", async () => {
    await using one = await lab.box();
    await using other = await lab.box();
    await using ports = await openPortLab();
    const links = [];
    for (const box of [one, other]) {
      await box.guest.files.write("/home/user/site/index.html", idOf(box), { signal: soon() });
      await startInside(box.guest, ["python3", "-c", PYTHON], soon());
      links.push(ports.link(idOf(box), PORT, { dial: dialOf(box) }));
    }
    const [first, second] = links;
    if (!first || !second) throw new Error("two links");
    expect((await askPort(ports.origin, { host: hostOf(first), headers: tokenOf(first) })).text).toBe(idOf(one));
    expect((await askPort(ports.origin, { host: hostOf(second), headers: tokenOf(second) })).text).toBe(idOf(other));
    expect((await askPort(ports.origin, { host: hostOf(second), headers: tokenOf(first) })).status).toBe(401);
  });

  it("says that nothing listens", async () => {
    await using box = await lab.box();
    await using ports = await openPortLab();
    const link = ports.link(idOf(box), 9, { dial: dialOf(box) });
    const asJson = await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link) });
    expect([asJson.status, JSON.parse(asJson.text)]).toMatchObject([502, { error: { code: "PORT_REFUSED", retryable: true } }]);
    const asPage = await askPort(ports.origin, { host: hostOf(link), headers: { ...tokenOf(link), accept: "text/html" } });
    expect([asPage.status, asPage.headers["content-type"], asPage.text]).toMatchObject([
      502,
      "text/html; charset=utf-8",
      expect.stringContaining("Nothing answers on this port"),
    ]);
  });

  it("ends open connections with its sandbox, and says so to new ones", async () => {
    const box = await lab.box();
    await using ports = await openPortLab();
    const link = await serveNode(ports, box);
    const answer = await openAnswer(ports.origin, { host: hostOf(link), headers: tokenOf(link), path: "/hang" });
    const { socket } = await openUpgrade(ports, link);
    const ends = [once(answer, "error"), once(socket, "close")];
    answer.resume();
    socket.resume();
    await box[Symbol.asyncDispose]();
    await Promise.all(ends);
    expect((await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link) })).status).toBe(410);
    expect(ports.failures).toEqual([]);
  });
});

describe("listening ports", () => {
  it("are seen with their address and user, without being registered", async () => {
    await using box = await lab.box();
    expect(await listListening(box.guest, soon())).toEqual([]);
    const listen = `import socket
a = socket.create_server(("127.0.0.1", 8001))
b = socket.create_server(("0.0.0.0", 8002))
c = socket.create_server(("::1", 8003), family=socket.AF_INET6)
d = socket.create_server(("::", 8004), family=socket.AF_INET6)
e = socket.create_connection(("127.0.0.1", 8001))
print("ready", flush=True)
import signal; signal.pause()`;
    await startInside(box.guest, ["python3", "-c", listen], soon());
    const uid = Number((await box.run(["id", "-u"])).out);
    expect(await listListening(box.guest, soon())).toEqual([
      { port: 8001, address: "127.0.0.1", uid },
      { port: 8002, address: "0.0.0.0", uid },
      { port: 8003, address: "::1", uid },
      { port: 8004, address: "::", uid },
    ]);
  });
});
