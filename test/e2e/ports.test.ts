import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import type { CliHome, StartedCli } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

const SERVER = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from inside")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
print("ready", flush=True)
server.serve_forever()
`;

/** A sandbox with a web server on port 8000. */
async function startSite(cli: CliHome): Promise<{ readonly id: string } & AsyncDisposable> {
  const id = (await cli.run(["sandbox", "create"])).stdout.trim();
  const server = cli.start(["exec", id, "--", "python3", "-c", SERVER]);
  await server.firstOutput();
  return { id, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function startServer(cli: CliHome): Promise<{ readonly server: StartedCli; readonly origin: URL }> {
  const server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  return { server, origin: new URL(url) };
}

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Names below localhost are not everywhere resolved, so the address is the server's and the name is in Host. */
async function get(origin: URL, href: string, headers: Readonly<Record<string, string>> = {}): Promise<Got> {
  const { host, pathname, search } = new URL(href, origin);
  const asked = request({
    host: origin.hostname,
    port: origin.port,
    path: pathname + search,
    headers: { ...headers, host },
    agent: false,
  }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() };
}

describe("belljar sandbox port", () => {
  it("removes a link, and makes one that ends, here and on a server", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const { server, origin } = await startServer(cli);
    await using _server = server;
    for (const [name, value] of [
      ["BELLJAR_PORT", origin.port],
      ["BELLJAR_URL", origin.origin],
    ] as const) {
      const env = { [name]: value };
      const made = await cli.run(["port", site.id, "8000", "--public", "--expires", "3h"], { env });
      const [, pathUrl = ""] = made.stdout.trim().split("\n");
      expect((await get(origin, pathUrl)).status).toBe(200);
      expect((await cli.run(["ports", site.id], { env })).stdout).toMatch(/^8000 .* in 3 hours$/m);
      expect(await cli.run(["port", site.id, "8000", "--remove"], { env })).toMatchObject({ code: 0, stdout: "8000\n" });
      expect((await get(origin, pathUrl)).status).toBeGreaterThanOrEqual(400);
      expect(await cli.run(["port", site.id, "8000", "--remove"], { env })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("no link"),
      });
    }
  });

  it("says when a link ends that is there, and takes no option beside --remove that would do nothing", async () => {
    await using cli = await openCliHome();
    const id = (await cli.run(["sandbox", "create"])).stdout.trim();
    expect((await cli.run(["port", id, "8000", "--expires", "3h"])).stderr).not.toContain("3 hours");
    expect(await cli.run(["port", id, "8000"])).toMatchObject({ code: 0, stderr: expect.stringMatching(/ends in 3 hours.*--expires/) });
    for (const more of [["--public"], ["--expires", "1h"]])
      expect(await cli.run(["port", id, "8000", "--remove", ...more])).toMatchObject({ code: 2 });
    expect(await cli.run(["port", id, "8000", "--remove", "--json"])).toMatchObject({ code: 0, stdout: '{"removed":true}\n' });
    expect(await cli.run(["port", id, "8000", "--remove", "--json"])).toMatchObject({ code: 1, stdout: '{"removed":false}\n' });
  });

  it("prints links that a browser can open while a server of the home runs", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const { server, origin } = await startServer(cli);
    await using _server = server;
    const env = { BELLJAR_PORT: origin.port };
    const { stdout, stderr } = await cli.run(["sandbox", "port", site.id, "8000"], { env });
    expect(stderr).toBe("");
    const [url = "", pathUrl = ""] = stdout.trim().split("\n");
    expect(url).toMatch(new RegExp(`^http://8000-${site.id}\\.localhost:${origin.port}/\\?belljar_token=[A-Za-z0-9_-]{43}$`));
    const visit = await get(origin, url);
    expect([visit.status, visit.headers.location]).toEqual([303, "/"]);
    const cookie = visit.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect(await get(origin, new URL("/", url).href, { cookie })).toMatchObject({ status: 200, text: "hello from inside" });
    const moved = await get(origin, pathUrl);
    expect(await get(origin, moved.headers.location ?? "")).toMatchObject({ status: 200, text: "hello from inside" });
    expect((await get(origin, new URL("/", url).href)).status).toBe(401);
  });

  it("says that no server answers, and gives the same link again", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const address = free.address();
    free.close();
    const env = { BELLJAR_PORT: String(typeof address === "object" && address ? address.port : 0) };
    const first = await cli.run(["sandbox", "port", site.id, "8000", "--json"], { env });
    expect(first.stderr).toContain("the link works while `belljar serve` runs");
    const link = JSON.parse(first.stdout) as { token: string };
    expect(JSON.parse((await cli.run(["sandbox", "port", site.id, "8000", "--json"], { env })).stdout)).toEqual(link);
    const all = JSON.parse((await cli.run(["sandbox", "ports", site.id, "--json"], { env })).stdout) as unknown;
    expect(all).toMatchObject({ listening: [{ port: 8000, address: "127.0.0.1" }], links: [link] });
  });

  it("works on a server as at home", async () => {
    await using cli = await openCliHome();
    await using far = await openCliHome();
    await using site = await startSite(cli);
    const { server, origin } = await startServer(cli);
    await using _server = server;
    const env = { BELLJAR_URL: origin.origin };
    const made = await far.run(["sandbox", "port", site.id, "8000", "--public", "--json"], { env });
    const { pathUrl, access } = JSON.parse(made.stdout) as { pathUrl: string; access: string };
    expect(access).toBe("public");
    expect(await get(origin, pathUrl)).toMatchObject({ status: 200, text: "hello from inside" });
    const table = (await far.run(["sandbox", "ports", site.id], { env })).stdout;
    expect(table).toMatch(/^PORT +LISTENS ON +UID +LINK +EXPIRES\n8000 +127\.0\.0\.1 +\d+ +http:\/\/8000-/);
  });

  it("refuses what is no port, and unknown sandboxes", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["sandbox", "port", "x", "http"])).toMatchObject({ code: 2 });
    expect(await cli.run(["sandbox", "port", "a".repeat(20), "80"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("SANDBOX_NOT_FOUND"),
    });
  });
});

describe("belljar sandbox forward", () => {
  it("is a port of this machine until it is stopped", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const forward = cli.start(["sandbox", "forward", site.id, "8000:0"]);
    await using _forward = forward;
    const [, port = ""] = await forward.prints(/^127\.0\.0\.1:(\d+) is port 8000 of sandbox/);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("hello from inside");
    forward.signal("SIGTERM");
    expect(await forward.exit).toMatchObject({ code: 0 });
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
  });

  it("says why a connection cannot go in, and goes on", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const forward = cli.start(["sandbox", "forward", site.id, "9:0"]);
    await using _forward = forward;
    const [, port = ""] = await forward.prints(/^127\.0\.0\.1:(\d+) is/);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
    await forward.says(/PORT_REFUSED/);
  });

  it("ends with the sandbox, and says why", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const forward = cli.start(["sandbox", "forward", site.id, "8000:0"]);
    await using _forward = forward;
    await forward.prints(/is port 8000/);
    await cli.run(["sandbox", "kill", site.id]);
    expect(await forward.exit).toMatchObject({ code: 1, stderr: expect.stringContaining("SANDBOX_ENDED") });
  });

  it("says that the local port is in use", async () => {
    await using cli = await openCliHome();
    await using site = await startSite(cli);
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const result = await cli.run(["sandbox", "forward", site.id, `8000:${port}`]);
    other.close();
    expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(/is in use: .*PORT:LOCAL.*\(PORT_TAKEN\)/) });
  });
});
