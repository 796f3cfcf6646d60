import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { askPort, hostOf, openPortLab, tokenOf } from "../../../test/support/port-lab.ts";
import { BASE, byHost, byPath, ID, openWeb, PORT, sayRaw, tell } from "../../../test/support/port-inside.ts";

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
