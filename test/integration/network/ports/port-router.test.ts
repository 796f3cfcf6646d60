import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { askHalfOpen } from "../../../support/ask-half-open.ts";
import { askPort, hostOf, openAnswer, openPortLab, tokenOf } from "../../../support/port-lab.ts";
import type { PortLab } from "../../../support/port-lab.ts";
import { BelljarError } from "../../../../src/errors.ts";
import type { PortLink } from "../../../../src/network/ports/port-link.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const PORT = 8000;

interface Inside extends AsyncDisposable {
  readonly ports: PortLab;
  readonly link: PortLink;
  dial(): Promise<Socket>;
}

/** A server that stands for the program inside, and a link to it. */
async function openInside(server: Server, access: PortLink["access"] = "token"): Promise<Inside> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ports = await openPortLab();
  const dial = async (): Promise<Socket> => {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    return socket;
  };
  const link = ports.link(ID, PORT, { dial, access });
  return {
    ports,
    link,
    dial,
    async [Symbol.asyncDispose]() {
      await ports[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function openWeb(listener: RequestListener, access?: PortLink["access"]): Promise<Inside> {
  return openInside(createHttpServer(listener), access);
}

/** Answers with the request that it received. */
const tell: RequestListener = (request, response) => {
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers }));
};

/** A program that sends these bytes to every client. */
function openRaw(said: string): Promise<Inside> {
  return openInside(createServer((socket) => void socket.once("data", () => socket.end(said))));
}

/** Sends raw bytes, as a hostile client may, and returns the answer. */
async function sayRaw({ ports }: Inside, text: string): Promise<string> {
  const socket = connect({ port: Number(ports.origin.port), host: "127.0.0.1" });
  socket.write(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const byHost = ({ link }: Inside) => ({ host: hostOf(link), headers: tokenOf(link) });
const BASE = `/ports/${ID}/${PORT}`;
const byPath = ({ link }: Inside, path = "/") => ({ path: `${BASE}/~${link.token}${path}` });

it("keeps idle connections longer than clients do", async () => {
  await using inside = await openWeb(tell);
  const { headers } = await fetch(new URL("/", inside.ports.origin));
  expect(headers.get("keep-alive")).toBe("timeout=72");
});

describe("access to a port", () => {
  it("is refused in the same words for an unknown sandbox, a port without a link and a wrong token", async () => {
    await using inside = await openWeb(tell);
    const { origin } = inside.ports;
    const unknown = "z".repeat(20);
    const refused = await Promise.all(
      [
        { host: hostOf(inside.link) },
        { host: hostOf(inside.link), headers: { "belljar-port-token": "T".repeat(43) } },
        { host: hostOf(inside.link), headers: { cookie: "belljar-port=; belljar-port=x" } },
        { host: `8001-${ID}.localhost`, headers: tokenOf(inside.link) },
        { host: `8000-${unknown}.localhost`, headers: tokenOf(inside.link) },
        { host: hostOf(inside.link), path: "/?belljar_token=" },
        { path: `${BASE}/` },
        { path: `${BASE}/~${"T".repeat(43)}/` },
        { path: `/ports/${unknown}/${PORT}/`, headers: tokenOf(inside.link) },
      ].map((asked) => askPort(origin, asked)),
    );
    const words = refused.map(({ status, text }) => [status, text.replace(/"requestId":"[^"]+"/, "")]);
    expect(new Set(words.map(String)).size).toBe(1);
    expect(words[0]).toEqual([401, expect.stringContaining('"code":"PORT_LINK_INVALID"')]);
  });

  it("is refused with a page that explains how to get a link", async () => {
    await using inside = await openWeb(tell);
    const page = await askPort(inside.ports.origin, { host: hostOf(inside.link), headers: { accept: "text/html,*/*" } });
    expect(page.headers["content-length"]).toBe(String(Buffer.byteLength(page.text)));
    expect(page.text).toMatch(/<h1>This link needs its token<\/h1><p>.*belljar sandbox port ID PORT/);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
  });

  it("is refused to an upgrade without a token, whose socket is let go", async () => {
    await using inside = await openWeb(tell);
    const head = `GET / HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await askHalfOpen(inside.ports.origin, head)).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  });

  it("is free to all when the link is public", async () => {
    await using inside = await openWeb(tell, "public");
    expect((await askPort(inside.ports.origin, { host: hostOf(inside.link) })).status).toBe(200);
    expect((await askPort(inside.ports.origin, { path: `${BASE}/` })).status).toBe(200);
  });

  it("begins with a token in the address, which becomes a cookie", async () => {
    await using inside = await openWeb(tell);
    const visit = await askPort(inside.ports.origin, { host: hostOf(inside.link), path: `/a?x=1&belljar_token=${inside.link.token}` });
    expect(visit).toMatchObject({
      status: 303,
      headers: {
        location: "/a?x=1",
        "set-cookie": [`belljar-port=${inside.link.token}; Path=/; HttpOnly; SameSite=Lax`],
        "cache-control": "no-store",
      },
    });
    const cookie = `other=1; belljar-port=${inside.link.token}`;
    const seen = JSON.parse((await askPort(inside.ports.origin, { host: hostOf(inside.link), headers: { cookie } })).text) as {
      headers: Record<string, string>;
    };
    expect(seen.headers["cookie"]).toBe("other=1");
    expect(JSON.stringify(seen)).not.toContain(inside.link.token);
  });

  it("redirects a first visit to no other server", async () => {
    await using inside = await openWeb(tell);
    const visit = await askPort(inside.ports.origin, {
      host: hostOf(inside.link),
      path: `//evil.example/?belljar_token=${inside.link.token}`,
    });
    expect(new URL(visit.headers.location ?? "", "http://here").host).toBe("here");
  });

  it("uses the token in the path if pages have no origin and so no cookies", async () => {
    await using inside = await openWeb(tell);
    const visit = await askPort(inside.ports.origin, { path: `${BASE}?belljar_token=${inside.link.token}` });
    expect(visit.headers).toMatchObject({
      location: `${BASE}/~${inside.link.token}/`,
      "set-cookie": [`belljar-port=${inside.link.token}; Path=${BASE}/; HttpOnly; SameSite=Lax`],
    });
    const cookie = `belljar-port=${inside.link.token}`;
    expect((await askPort(inside.ports.origin, { path: `${BASE}/x`, headers: { cookie } })).status).toBe(200);
    const page = await askPort(inside.ports.origin, { path: `${BASE}/x?y`, headers: { cookie, "sec-fetch-dest": "document" } });
    expect([page.status, page.headers.location]).toEqual([303, `${BASE}/~${inside.link.token}/x?y`]);
  });

  it("is not granted by a browser's cookie to a page of another server on this machine", async () => {
    await using inside = await openWeb(tell);
    const cookie = `belljar-port=${inside.link.token}`;
    const own = `http://${hostOf(inside.link)}:${inside.ports.origin.port}`;
    const statusOf = async (headers: Record<string, string>, method = "GET"): Promise<number[]> =>
      Promise.all(
        [{ host: hostOf(inside.link) }, { path: `${BASE}/` }].map(
          async (asked) => (await askPort(inside.ports.origin, { ...asked, method, headers: { cookie, ...headers } })).status,
        ),
      );
    expect(await statusOf({ origin: "http://127.0.0.1:8000" })).toEqual([401, 401]);
    expect(await statusOf({ origin: "null" })).toEqual([401, 401]);
    expect(await statusOf({ "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" })).toEqual([401, 401]);
    expect(await statusOf({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, "POST")).toEqual([401, 401]);
    for (const method of ["GET", "HEAD"])
      expect(await statusOf({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, method)).toEqual([200, 200]);
    expect(await statusOf({ "sec-fetch-site": "same-origin", origin: "null" }, "POST")).toEqual([200, 200]);
    expect((await statusOf({ origin: own }))[0]).toBe(200);
  });

  it("is refused to another server's page that opens a WebSocket with a browser's cookie", async () => {
    await using inside = await openWeb(tell);
    const head = `GET ${BASE}/ HTTP/1.1\r\nHost: 127.0.0.1:${inside.ports.origin.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
    const page = `Origin: http://127.0.0.1:8000\r\nCookie: belljar-port=${inside.link.token}\r\n\r\n`;
    expect(await sayRaw(inside, head + page)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("is refused under a name that was rebound to this address", async () => {
    await using inside = await openWeb(tell, "public");
    expect((await askPort(inside.ports.origin, { path: `${BASE}/`, host: "evil.example" })).status).toBe(403);
  });

  it("ends with the sandbox", async () => {
    await using inside = await openWeb(tell);
    inside.ports.end(ID, new BelljarError("SANDBOX_ENDED", "Sandbox <b> has ended (killed): create another one"));
    const page = await askPort(inside.ports.origin, { ...byHost(inside), headers: { accept: "text/html" } });
    expect([page.status, page.text]).toEqual([410, expect.stringContaining("Sandbox &lt;b&gt; has ended")]);
  });
});

describe("a page in path style", () => {
  it("has no origin, whatever the program says", async () => {
    await using inside = await openWeb((_request, response) => {
      response.writeHead(200, {
        "content-security-policy": "default-src *",
        "referrer-policy": "unsafe-url",
        "content-type": "image/svg+xml",
      });
      response.end("<svg/>");
    });
    const page = await askPort(inside.ports.origin, byPath(inside));
    expect(page.headers["content-security-policy"]).toMatch(/^default-src \*, sandbox allow-scripts allow-forms /);
    expect(page.headers["content-security-policy"]).not.toContain("allow-same-origin");
    expect(page.headers["referrer-policy"]).toBe("no-referrer");
    const refused = await askPort(inside.ports.origin, { path: `${BASE}/` });
    expect(refused.headers["content-security-policy"]).toContain("sandbox");
  });

  it("may load its own resources", async () => {
    await using inside = await openWeb(tell);
    const headers = { origin: "null" };
    const loaded = await askPort(inside.ports.origin, { ...byPath(inside, "/x.js"), headers });
    expect(loaded.headers["access-control-allow-origin"]).toBe("null");
    const asks = { ...headers, "access-control-request-method": "PUT", "access-control-request-headers": "x-a" };
    const asked = await askPort(inside.ports.origin, { ...byPath(inside), method: "OPTIONS", headers: asks });
    expect([asked.status, asked.headers]).toMatchObject([
      204,
      { "access-control-allow-origin": "null", "access-control-allow-methods": "PUT", "access-control-allow-headers": "x-a" },
    ]);
    // RFC 9110, section 8.6: no length with this status.
    expect(asked.headers["content-length"]).toBeUndefined();
    const foreign = await askPort(inside.ports.origin, { ...byPath(inside), headers: { origin: "http://evil.example" } });
    expect(foreign.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("is redirected where the program intends, within its own path", async () => {
    await using inside = await openWeb(
      (request, response) => void response.writeHead(302, { location: decodeURIComponent(request.url?.slice(2) ?? "") }).end(),
    );
    const sent = async (location: string): Promise<string | undefined> =>
      (await askPort(inside.ports.origin, byPath(inside, `/?${encodeURIComponent(location)}`))).headers.location;
    const prefix = `${BASE}/~${inside.link.token}`;
    expect(await sent("/login")).toBe(`${prefix}/login`);
    expect(await sent("next")).toBe("next");
    expect(await sent(`http://localhost:${PORT}/x?y`)).toBe(`${prefix}/x?y`);
    expect(await sent(`http://127.0.0.1:${PORT}`)).toBe(`${prefix}/`);
    expect(await sent(`http://localhost:${PORT + 1}/x`)).toBe(`http://localhost:${PORT + 1}/x`);
    expect(await sent(`${prefix}/x`)).toBe(`${prefix}/x`);
    expect(await sent("https://example.com/")).toBe("https://example.com/");
    expect(await sent(`${inside.ports.origin.href}x`)).toBe(`${prefix}/x`);
  });
});

describe("headers of a request", () => {
  it("tell the program its public address, which no client can forge", async () => {
    await using inside = await openWeb(tell);
    const forged = {
      "x-forwarded-host": "evil.example",
      X_Forwarded_Prefix: "/evil",
      forwarded: "for=evil",
      "x-real-ip": "6.6.6.6",
      authorization: "Bearer belljar_abc_def",
      connection: "x-secret",
      "x-secret": "1",
      "x-kept": "yes",
    };
    const ask = async (asked: Parameters<typeof askPort>[1]) =>
      (JSON.parse((await askPort(inside.ports.origin, asked)).text) as { headers: Record<string, string> }).headers;
    const host = `${hostOf(inside.link)}:${inside.ports.origin.port}`;
    expect(await ask({ host: hostOf(inside.link), headers: { ...forged, ...tokenOf(inside.link) } })).toEqual({
      host,
      "x-kept": "yes",
      "x-forwarded-host": host,
      "x-forwarded-proto": "http",
      connection: "keep-alive",
    });
    expect(await ask({ ...byPath(inside), headers: { referer: `http://localhost${BASE}/~T/`, authorization: "Basic abc" } })).toEqual({
      host: `localhost:${PORT}`,
      authorization: "Basic abc",
      "x-forwarded-host": inside.ports.origin.host,
      "x-forwarded-proto": "http",
      "x-forwarded-prefix": `${BASE}/~${inside.link.token}`,
      connection: "keep-alive",
    });
  });
});

describe("headers of an answer", () => {
  it("affect neither this server nor the browser beyond the port", async () => {
    const steering = {
      "clear-site-data": '"*"',
      "strict-transport-security": "max-age=1",
      "alt-svc": 'h3=":1"',
      "service-worker-allowed": "/",
      "public-key-pins": "x",
      "report-to": "{}",
      nel: "{}",
      "x-accel-redirect": "/etc/passwd",
      x_accel_buffering: "no",
      "proxy-authenticate": "Basic",
      "keep-alive": "timeout=99",
    };
    await using inside = await openWeb((_request, response) => {
      response.writeHead(200, { ...steering, "x-kept": "yes", "set-cookie": ["a=1; Domain=localhost", "belljar-port=evil"] }).end();
    });
    for (const asked of [byHost(inside), byPath(inside)]) {
      const { headers } = await askPort(inside.ports.origin, asked);
      expect(Object.keys(headers).filter((name) => name !== "keep-alive" && name in steering)).toEqual([]);
      expect(headers["keep-alive"]).not.toBe("timeout=99");
      expect(headers["x-kept"]).toBe("yes");
      expect(headers["set-cookie"]).toHaveLength(1);
    }
  });
});

describe("a name and password", () => {
  it("are asked for only in host style, because a browser keeps them for a whole origin", async () => {
    await using inside = await openWeb((_request, response) => void response.writeHead(401, { "www-authenticate": "Basic" }).end());
    const [host, path] = await Promise.all([byHost(inside), byPath(inside)].map((asked) => askPort(inside.ports.origin, asked)));
    expect([host?.headers["www-authenticate"], path?.headers["www-authenticate"]]).toEqual(["Basic", undefined]);
    expect([host?.status, path?.status]).toEqual([401, 401]);
  });
});

describe("a hostile client", () => {
  it.each([
    ["a length and chunks", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
    ["two hosts", "GET / HTTP/1.1\r\nHost: HOST\r\nHost: other\r\nTOKEN\r\nConnection: close\r\n\r\n"],
    ["a whole URL", "GET http://other/ HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: close\r\n\r\n"],
    ["another coding", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["a folded header", "GET / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nX-A: 1\r\n 2\r\n\r\n"],
    ["a bare line end", "GET / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nX-A: 1\nX-B: 2\r\n\r\n"],
    [
      "an upgrade with a body",
      "GET / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 5\r\n\r\nhello",
    ],
    ["a POST that upgrades", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
  ])("gets 400 for %s, and the program inside nothing", async (_what, text) => {
    let asked = 0;
    await using inside = await openWeb((_request, response) => void response.end(String((asked += 1))));
    const said = text.replace("HOST", hostOf(inside.link)).replace("TOKEN", `Belljar-Port-Token: ${inside.link.token}`);
    expect(await sayRaw(inside, said)).toMatch(/^HTTP\/1\.1 400 /);
    expect(asked).toBe(0);
  });

  it("that disconnects before the answer leaves nothing open", async () => {
    let came = (_request: IncomingMessage): void => undefined;
    const request = new Promise<IncomingMessage>((resolve) => (came = resolve));
    await using inside = await openWeb((one) => came(one));
    const socket = connect({ port: Number(inside.ports.origin.port), host: "127.0.0.1" });
    socket.write(`GET / HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\nBelljar-Port-Token: ${inside.link.token}\r\n\r\n`);
    const closed = once((await request).socket, "close");
    socket.destroy();
    await closed;
  });
});

describe("an upgrade", () => {
  const upgrade = ({ link }: Inside, rest = ""): string =>
    `GET /socket?x HTTP/1.1\r\nHost: ${hostOf(link)}\r\nBelljar-Port-Token: ${link.token}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n${rest}`;

  it("is asked of the program inside as such, and then carries bytes both ways, the first ones too", async () => {
    const asked: IncomingMessage[] = [];
    const server = createHttpServer().on("upgrade", (request, socket, head) => {
      asked.push(request);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Kept: yes\r\n\r\n");
      socket.write(Buffer.concat([Buffer.from("seen "), head]));
      socket.pipe(socket);
    });
    await using inside = await openInside(server);
    const socket = connect({ port: Number(inside.ports.origin.port), host: "127.0.0.1" });
    socket.write(upgrade(inside, "early"));
    const chunks: Buffer[] = [];
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (text.includes("early") && !text.includes("late") && !socket.writableEnded) socket.end("late");
    }
    expect(Buffer.concat(chunks).toString()).toMatch(
      /^HTTP\/1\.1 101 Switching Protocols\r\n[^]*x-kept: yes\r\n[^]*Upgrade: echo\r\n\r\nseen earlylate$/i,
    );
    expect(asked.map(({ url, headers }) => [url, headers.connection, headers.upgrade])).toEqual([["/socket?x", "Upgrade", "echo"]]);
  });

  it("is answered with 502 if the program inside ends without an answer", async () => {
    await using inside = await openRaw("");
    expect(await sayRaw(inside, upgrade(inside))).toMatch(/^HTTP\/1\.1 502 /);
  });
});

describe("a hostile program inside", () => {
  it.each([
    ["nothing", ""],
    ["what is not HTTP", "SSH-2.0-x\r\n"],
    ["a status that there is not", "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"],
    ["a switch that nobody asked for", "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a head without an end", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`],
  ])("is a 502 when it says %s", async (_what, said) => {
    await using inside = await openRaw(said);
    expect((await askPort(inside.ports.origin, byHost(inside))).status).toBe(502);
    expect(inside.ports.failures).toEqual([]);
  });

  it("breaks only its own answer if it ends in the middle", async () => {
    await using inside = await openRaw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    const answer = await openAnswer(inside.ports.origin, byHost(inside));
    answer.resume();
    await once(answer, "error");
    expect(inside.ports.failures).toEqual([]);
  });

  it("may refuse to switch protocols, and its answer ends with the connection", async () => {
    await using inside = await openRaw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    const token = `Belljar-Port-Token: ${inside.link.token}`;
    const said = `GET / HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\n${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await sayRaw(inside, said)).toMatch(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n[^]*\r\n\r\nok$/);
  });

  it("cannot add a header by its reason phrase", async () => {
    await using inside = await openRaw("HTTP/1.1 200 OK\tx\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    expect((await askPort(inside.ports.origin, byHost(inside))).status).toBe(200);
  });

  it("may answer before it has read the request", async () => {
    await using inside = await openInside(
      createServer(
        (socket) => void socket.once("data", () => socket.end("HTTP/1.1 413 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")),
      ),
    );
    const answer = await askPort(inside.ports.origin, { ...byHost(inside), method: "POST", body: "x".repeat(4_000_000) });
    expect(answer).toMatchObject({ status: 413, text: "no!" });
  });
});

describe("a kept connection", () => {
  it("takes the next request of a client whose last body nobody read", async () => {
    await using inside = await openInside(
      createServer(
        (socket) => void socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")),
      ),
    );
    const head = `HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\nBelljar-Port-Token: ${inside.link.token}\r\n`;
    const body = "x".repeat(4_000_000);
    const first = `POST / ${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    expect((await sayRaw(inside, `${first}GET / ${head}Connection: close\r\n\r\n`)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  it("is replaced if it closes while the next request is sent", async () => {
    let connections = 0;
    await using inside = await openInside(
      createServer((socket) => {
        connections += 1;
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          socket.once("data", () => socket.destroy());
        });
      }),
    );
    const ask = async () => (await askPort(inside.ports.origin, byHost(inside))).text;
    expect([await ask(), await ask()]).toEqual(["ok", "ok"]);
    expect(connections).toBe(2);
  });

  it("carries one request after the other", async () => {
    let connections = 0;
    const server = createHttpServer(tell).on("connection", () => (connections += 1));
    await using inside = await openInside(server);
    for (let count = 0; count < 3; count += 1) expect((await askPort(inside.ports.origin, byHost(inside))).status).toBe(200);
    expect(connections).toBe(1);
  });

  it("never carries a non-idempotent request twice", async () => {
    const said: string[] = [];
    await using inside = await openInside(
      createServer((socket) =>
        socket.on("data", (chunk: Buffer) => {
          said.push(chunk.toString().split(" ", 1)[0] ?? "");
          if (said.at(-1) === "GET") socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          else socket.destroy();
        }),
      ),
    );
    await askPort(inside.ports.origin, byHost(inside));
    expect((await askPort(inside.ports.origin, { ...byHost(inside), method: "DELETE" })).status).toBe(502);
    expect(said).toEqual(["GET", "DELETE"]);
  });
});

it("ends the connections into sandboxes, also idle ones, when its listener ends", async () => {
  await using inside = await openWeb(tell);
  const ports = await openPortLab();
  const signals: AbortSignal[] = [];
  const dial = async (_port: number, signal: AbortSignal): Promise<Socket> => {
    signals.push(signal);
    return inside.dial();
  };
  const link = ports.link(ID, PORT, { dial });
  expect((await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link) })).status).toBe(200);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await ports[Symbol.asyncDispose]();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
