import { once } from "node:events";
import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { openBoxServer } from "../support/mcp-box.ts";
import { CLI } from "../support/served-home.ts";
import { verifies } from "./verifies.ts";
import { shownData } from "../support/shown-result.ts";

/** A program of the host on every address of it, which is not Belljar's. */
async function openNeighbour(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer((_request, response) => void response.end("the neighbour's answer")).listen(0, "0.0.0.0");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function startServer(cli: CliHome, more: readonly string[] = []) {
  const server = cli.start(["serve", "--port", "0", ...more]);
  const [, origin = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  const ask = async (route: string, { token, body }: { readonly token?: string; readonly body?: unknown } = {}) => {
    const [method = "GET", path = "/"] = route.split(" ");
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const answer = await fetch(origin + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, text, json: () => JSON.parse(text) as { readonly id: string } & Record<string, unknown> };
  };
  return {
    port: Number(new URL(origin).port),
    ask,
    async [Symbol.asyncDispose]() {
      for (const name of OWNERS.get(cli) ?? []) await endAll(ask, await tokenOf(cli, name));
      await server[Symbol.asyncDispose]();
    },
  };
}

/** `belljar mcp` with a link to a port, for which it opens a listener of its own. */
async function openMcpListener(cli: CliHome): Promise<{ readonly port: number } & AsyncDisposable> {
  const client = new Client({ name: "test", version: "1" });
  const env = { PATH: process.env["PATH"] ?? "", BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home" };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env, cwd: cli.folder }));
  const made = await client.callTool({ name: "register_port", arguments: { port: 8000 } });
  const { path_url: url } = shownData(made) as { path_url: string };
  return { port: Number(new URL(url).port), [Symbol.asyncDispose]: () => client.close() };
}

/** Who was given tokens: the home's own list does not show what they have made. */
const OWNERS = new WeakMap<CliHome, Set<string>>();

type Ask = Awaited<ReturnType<typeof startServer>>["ask"];

async function endAll(ask: Ask, token: string): Promise<void> {
  const { sandboxes } = (await ask("GET /v1/sandboxes?state=running", { token })).json() as unknown as {
    readonly sandboxes: readonly { readonly id: string }[];
  };
  for (const { id } of sandboxes) expect((await ask(`DELETE /v1/sandboxes/${id}`, { token })).status).toBe(204);
}

const tokenOf = async (cli: CliHome, name: string, ...scopes: readonly string[]): Promise<string> => {
  OWNERS.set(cli, (OWNERS.get(cli) ?? new Set()).add(name));
  const { stdout } = await cli.run(["token", "create", name, ...scopes.flatMap((scope) => ["--scope", scope])]);
  return /belljar_\S+/.exec(stdout)?.[0] ?? "";
};

/** Every way to this machine, as a program may write it. */
const SPELLINGS = [
  "127.0.0.1",
  "127.1",
  "127.9.9.9",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "2130706433",
  "localhost",
];
const ownAddress = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((rows) => rows ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address)
    .slice(0, 1);

/** What the proxy inside answers to a request whose host is spelled as it is here, and to a tunnel to it. */
const ASK = `
import socket, sys
def say(*lines):
    s = socket.create_connection(("127.0.0.1", 3128), timeout=30)
    s.sendall(b"\\r\\n".join(line.encode() for line in lines) + b"\\r\\n\\r\\n")
    data = b""
    while chunk := s.recv(65536): data += chunk
    return data
def show(place, answer):
    print(place, " ".join(answer.decode("latin1").split()))
for place in sys.argv[1:]:
    show(place, say(f"GET http://{place}/v1/sandboxes HTTP/1.1", f"Host: {place}", "Connection: close"))
    show(place, say(f"CONNECT {place} HTTP/1.1", f"Host: {place}", "", f"GET /v1/sandboxes HTTP/1.1", f"Host: {place}", "Connection: close"))
`;

verifies(
  "own-listeners-unreached",
  async () => {
    await using cli = await openCliHome();
    await using neighbour = await openNeighbour();
    await using server = await startServer(cli);
    await using other = await startServer(cli);
    await using box = await openBoxServer(cli);
    await using mcp = await openMcpListener(cli);
    const forwarded = (await cli.run(["sandbox", "create"])).stdout.trim();
    await using forward = cli.start(["sandbox", "forward", forwarded, "8000:0"]);
    const [, forwardPort = ""] = await forward.prints(/^127\.0\.0\.1:(\d+) is port/);
    // Outside, whoever reaches the port is the local user.
    expect((await server.ask("GET /v1/sandboxes")).text).toContain(forwarded);
    const ours = [server.port, other.port, Number(new URL(box.admin).port), mcp.port, Number(forwardPort)];
    const hosts = [...SPELLINGS, ...ownAddress()];
    const rules = (ports: readonly number[]): string => hosts.flatMap((host) => ports.map((port) => `${host}:${port}`)).join(",");
    const id = (await cli.run(["sandbox", "create", "--network", `${rules(ours)},127.0.0.1:${neighbour.port}`])).stdout.trim();
    const ask = async (places: readonly string[]) => (await cli.run(["exec", id, "--", "python3", "-c", ASK, ...places])).stdout;
    expect(await ask([`127.0.0.1:${neighbour.port}`])).toContain("the neighbour's answer");
    const walk = async (): Promise<void> => {
      const places = hosts.flatMap((host) => ours.map((port) => `${host}:${port}`));
      const lines = (await ask(places)).trim().split("\n");
      expect(lines).toHaveLength(2 * places.length);
      for (const line of lines) {
        expect(line).toMatch(/ 403 |own-listener/);
        expect(line).not.toMatch(/"sandboxes"|HTTP\/1\.1 200 OK/);
      }
      expect(lines.filter((line) => line.includes("own-listener")).length).toBeGreaterThan(places.length);
    };
    await walk();
    // The local user's own words on a live sandbox open it no more than those at its start.
    expect((await cli.run(["sandbox", "network", id, `${rules(ours)},127.0.0.1:${neighbour.port}`])).code).toBe(0);
    await walk();
    expect(await ask([`127.0.0.1:${neighbour.port}`])).toContain("the neighbour's answer");
  },
  180_000,
);

const INSIDE = [
  "169.254.169.254:80",
  "10.0.0.1:22",
  "198.18.0.1:80",
  "192.0.2.1:443",
  "198.51.100.1:443",
  "203.0.113.1:443",
  "[2001:db8::1]:443",
  "[::1]:443",
  "localhost:8080",
  "db:5432",
  "a.localhost:80",
];

verifies(
  "private-places-need-their-scope",
  async () => {
    await using cli = await openCliHome();
    await using neighbour = await openNeighbour();
    await using server = await startServer(cli);
    const rule = `127.0.0.1:${neighbour.port}`;
    const [plain, all, named] = [
      await tokenOf(cli, "ann"),
      await tokenOf(cli, "ann", "network:all"),
      await tokenOf(cli, "ann", `network:${rule}`),
    ];
    const make = (token: string, rules: readonly string[]) =>
      server.ask("POST /v1/sandboxes", { token, body: { network: { allow: rules } } });
    for (const token of [plain, all]) {
      for (const place of [rule, ...INSIDE]) {
        const made = await make(token, ["api.example.com", place]);
        expect(made.status, place).toBe(403);
        expect(made.text).toContain(`network:${place}`);
      }
      // A name may lead anywhere later; the rule itself is no wrong.
      expect((await make(token, ["api.example.com:8443"])).status).toBe(201);
    }
    const own = (await make(plain, ["npm"])).json();
    for (const token of [plain, all])
      expect((await server.ask(`PUT /v1/sandboxes/${own.id}/network`, { token, body: { policy: { allow: [rule] } } })).status).toBe(403);
    // With the scope that names it the place is reached.
    const made = await make(named, [rule]);
    expect(made.status).toBe(201);
    const { id } = made.json();
    const env = { BELLJAR_URL: `http://127.0.0.1:${server.port}` };
    const ask = async (token: string, sandbox: string) =>
      cli.run(["exec", sandbox, "--", "python3", "-c", ASK, rule], { env: { ...env, BELLJAR_TOKEN: token } });
    expect((await ask(named, id)).stdout).toContain("the neighbour's answer");
    // Another token of the same owner does not come to it by way of that sandbox.
    const borrowed = await ask(plain, id);
    expect(borrowed.stdout).not.toContain("the neighbour's answer");
    expect(borrowed.stderr).toContain(`network:${rule}`);
    // Nor does it raise what that one has lowered, by a rule whose name may lead anywhere.
    const rises = { policy: { allow: ["db.corp:5432"] }, capped: true };
    const wide = await tokenOf(cli, "ann", "network:db.corp:5432");
    const lowered = (await make(wide, rises.policy.allow)).json();
    const change = async (token: string, body: object) =>
      (await server.ask(`PUT /v1/sandboxes/${lowered.id}/network`, { token, body })).status;
    expect(await change(wide, { policy: "none", capped: true })).toBe(204);
    expect(await change(plain, rises)).toBe(403);
    expect(await change(wide, rises)).toBe(204);
    expect((await server.ask(`DELETE /v1/sandboxes/${id}`, { token: plain })).status).toBe(204);
  },
  120_000,
);

verifies(
  "workspaces-need-their-scope",
  async () => {
    await using cli = await openCliHome();
    const folder = join(await realpath(cli.folder), "project");
    await mkdir(join(folder, "below"), { recursive: true });
    await writeFile(join(folder, "note"), "of the host");
    await using server = await startServer(cli, ["--workspace", `${folder}:rw`]);
    const call = async (token: string | undefined, name: string, args: object, sandbox = "default") => {
      const sent = { body: { name, arguments: args }, ...(token !== undefined && { token }) };
      return (await server.ask(`POST /tools/call?sandbox=${sandbox}`, sent)).text;
    };
    // The local user's own it is, to change too.
    expect(await call(undefined, "run_command", { command: "cat note; echo changed > note" })).toContain("of the host");
    expect(await readFile(join(folder, "note"), "utf8")).toBe("changed\n");
    await writeFile(join(folder, "note"), "of the host");
    const see = async (scopes: readonly string[]): Promise<string> => {
      const token = await tokenOf(cli, `see${Math.random().toString(36).slice(2, 10)}`, ...scopes);
      const seen = await call(token, "read_file", { path: "note" });
      await call(token, "run_command", { command: "echo stolen > note" });
      const after = await readFile(join(folder, "note"), "utf8");
      await writeFile(join(folder, "note"), "of the host");
      return `${seen.includes("of the host") ? "reads" : "sees nothing"}, ${after === "of the host" ? "changes nothing" : "changes"}`;
    };
    expect(await see([])).toBe("sees nothing, changes nothing");
    expect(await see(["toolset:files", "toolset:shell"])).toBe("sees nothing, changes nothing");
    expect(await see([`workspace:${folder}/below:rw`])).toBe("sees nothing, changes nothing");
    expect(await see([`workspace:${folder}x:rw`])).toBe("sees nothing, changes nothing");
    expect(await see(["read-only"])).toBe("sees nothing, changes nothing");
    expect(await see([`workspace:${folder}`])).toBe("reads, changes nothing");
    expect(await see([`workspace:${folder}:ro`])).toBe("reads, changes nothing");
    expect(await see(["workspaces", "read-only"])).toBe("reads, changes nothing");
    expect(await see([`workspace:${folder}:rw`])).toBe("reads, changes");
    expect(await see(["workspaces"])).toBe("reads, changes");
    // Named over REST, and by the routes that make default sandboxes.
    const [none, reading] = [await tokenOf(cli, "ben"), await tokenOf(cli, "ben", `workspace:${folder}:ro`)];
    for (const path of ["/v1/sandboxes", "/v1/default-sandboxes/x"]) {
      for (const mode of ["copy", "ro", "rw"]) {
        const body = { workspace: { path: folder, mode } };
        const refused = await server.ask(`POST ${path}`, { token: none, body });
        expect([refused.status, refused.text.includes(`workspace:${folder}:${mode}`)]).toEqual([403, true]);
        expect((await server.ask(`POST ${path}`, { body })).status).toBe(403);
        if (mode === "rw") expect((await server.ask(`POST ${path}`, { token: reading, body })).status).toBe(403);
      }
      const above = { workspace: { path: join(folder, ".."), mode: "ro" } };
      expect((await server.ask(`POST ${path}`, { token: reading, body: above })).status).toBe(403);
    }
    await server.ask("POST /register-codex?sandbox=codex", { token: none, body: {} });
    expect(await call(none, "read_file", { path: "note" }, "codex")).not.toContain("of the host");
    // A sandbox that a wider token of the same owner made, by its id and as the default one.
    const body = { workspace: { path: folder, mode: "ro" } };
    const { id } = (await server.ask("POST /v1/sandboxes", { token: reading, body })).json();
    expect(await call(reading, "read_file", { path: "note", sandbox: id })).toContain("of the host");
    expect(await call(none, "read_file", { path: "note", sandbox: id })).toContain(`no scope workspace:${folder}:ro`);
    await call(reading, "read_file", { path: "note" }, "shared");
    expect(await call(none, "read_file", { path: "note" }, "shared")).toContain(`no scope workspace:${folder}:ro`);
    const { status } = await server.ask(`GET /v1/sandboxes/${id}/environment`, { token: none });
    expect(status).toBe(403);
  },
  180_000,
);
