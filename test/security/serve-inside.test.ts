import { once } from "node:events";
import { resolve } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPortForward, type PortForward } from "../../src/network/ports/port-forward.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { findChromium } from "../support/chromium.ts";
import { type ContextLab, openContextLab } from "../support/context-lab.ts";
import { NO_LISTENERS } from "../support/no-listeners.ts";
import { verifies } from "./verifies.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PORT = 6060;
const START = `${ROOT}/deploy/service-image/start.sh`;
const patiently = () => AbortSignal.timeout(150_000);

/** Of the machine: what has no proxy of a sandbox goes out by it. */
const PROXY_PORT = 8118;
const PROXY = `import http.server
class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>by the proxy</title><p>" + self.path.encode() + b"</p>")
http.server.ThreadingHTTPServer(("127.0.0.1", ${PROXY_PORT}), Proxy).serve_forever()`;

type Process = Awaited<ReturnType<Guest["exec"]>>;

/** Belljar in a sandbox of Belljar's, as in any machine that somebody else made. */
describe("the tool server of a machine that somebody else made", () => {
  let lab: ContextLab;
  let machine: Sandbox;
  let forward: PortForward;
  let server: Process;

  async function start(env: Readonly<Record<string, string>> = {}, ...argv: readonly string[]): Promise<Process> {
    const own = { WORKSPACE_DIR: "/home/user/work", LOCAL_SECRET: "of the server", http_proxy: `http://127.0.0.1:${PROXY_PORT}`, ...env };
    return machine.guest.exec({ argv: ["sh", START, ...argv], env: own, signal: AbortSignal.timeout(120_000) });
  }

  /** What it says until it serves, or ends. */
  async function saysOf(process: Process): Promise<string> {
    let said = "";
    for await (const chunk of process.stderr) {
      said += String(chunk);
      if (said.includes("Belljar serves")) break;
    }
    return said;
  }

  beforeAll(async () => {
    lab = await openContextLab();
    machine = await lab.sandbox({ workspace: { path: ROOT, mode: "ro" } });
    await machine.guest.run({ argv: ["mkdir", "-p", "/home/user/work"], signal: patiently() });
    const dial = (signal: AbortSignal) => machine.guest.dial(PORT, signal);
    forward = await openPortForward({ dial, local: 0, listeners: NO_LISTENERS, onRefused: () => undefined });
    server = await start();
    await saysOf(server);
  }, 120_000);
  afterAll(async () => {
    await forward[Symbol.asyncDispose]();
    await lab[Symbol.asyncDispose]();
  }, 60_000);

  const url = (path: string): URL => new URL(path, `http://127.0.0.1:${forward.port}`);

  async function connect(token?: string): Promise<Client> {
    const client = new Client({ name: "test", version: "1" });
    const headers = new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` });
    await client.connect(new StreamableHTTPClientTransport(url("/mcp"), { requestInit: { headers } }));
    return client;
  }

  const inMachine = async (command: string, user = "user") => {
    const argv = ["sh", "-c", command];
    const { stdout, stderr } = await machine.guest.run({ argv, user, env: { WORKSPACE_DIR: "/tmp" }, signal: patiently() });
    return String(stdout) + String(stderr);
  };

  const call = async (client: Client, name: string, args: object) => {
    const { content, isError } = await client.callTool({ name, arguments: { ...args } });
    return `${isError ? "ERROR " : ""}${(content as { text?: string }[]).map(({ text }) => text).join("\n")}`;
  };

  it("runs commands and code and reads files where they are, and says that nothing is kept apart", async () => {
    await using client = Object.assign(await connect(), { [Symbol.asyncDispose]: async () => client.close() });
    expect(client.getInstructions()).toContain("Belljar runs inside it and keeps nothing apart");
    expect(client.getInstructions()).not.toMatch(/isolated|execute_code/);
    const ran = await call(client, "run_command", { command: "pwd; id -un; echo ${LOCAL_SECRET:-none}; echo kept > note.txt" });
    expect(ran).toContain("/home/user/work\nuser\nnone");
    expect(await call(client, "read_file", { path: "note.txt" })).toContain("kept");
    expect((await machine.guest.files.read("/home/user/work/note.txt", { signal: patiently() })).toString()).toBe("kept\n");
    expect(await call(client, "run_code", { language: "python", code: "x = 20\nx + 1" })).toContain("21");
    expect(await call(client, "run_code", { language: "python", code: "x + 2" }), "state is kept").toContain("22");
  }, 60_000);

  it("has no tool and no route for what it cannot do", async () => {
    await using client = Object.assign(await connect(), { [Symbol.asyncDispose]: async () => client.close() });
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["run_command", "run_code", "read_file", "search_content"]));
    expect(names.filter((name) => /sandbox|template|script|tool_add|network|execute_code/.test(name))).toEqual([]);
    expect(await call(client, "sandbox", { action: "create" }).catch(String)).toMatch(/Belljar runs inside this machine/);
    for (const name of ["sandbox_create", "sandbox_fork", "tool_add", "execute_code"]) {
      expect(await call(client, name, {}).catch(String), name).toMatch(/Belljar runs inside this machine|No tool/);
      expect(await call(client, "search_tools", { query: name }), name).not.toContain(`"name":"${name}"`);
    }
    expect(await (await fetch(url("/health"))).json()).toMatchObject({ status: "ok" });
    for (const path of ["/v1/sandboxes", "/v1/secrets", "/v2/sandboxes", "/add_mcp_tool", "/files?path=/etc/passwd"])
      expect((await fetch(url(path))).status, path).toBe(404);
    const doctor = (await (await fetch(url("/v1/doctor"))).json()) as { runtime: string; checks: { state: string }[] };
    expect([doctor.runtime, new Set(doctor.checks.map(({ state }) => state))]).toEqual(["host", new Set(["absent"])]);
  }, 60_000);

  it("opens pages as the machine's own programs do", async ({ skip }) => {
    if (findChromium() === undefined) return skip("there is no chromium (apt-get install chromium)");
    await using proxy = await machine.guest.exec({ argv: ["python3", "-c", PROXY], signal: patiently() });
    await machine.guest.run({ argv: ["sh", "-c", `until curl -s 127.0.0.1:${PROXY_PORT}; do sleep 0.1; done`], signal: patiently() });
    await using client = Object.assign(await connect(), { [Symbol.asyncDispose]: async () => client.close() });
    expect(await call(client, "browser_navigate", { url: "http://machine.example/page" })).toContain("by the proxy");
    expect(await call(client, "browser_snapshot", {})).toContain("http://machine.example/page");
    proxy.kill();
  }, 60_000);

  it("is one machine for every token, and says what is left when a command has ended what serves it", async () => {
    const tokenFor = async (name: string) => /belljar_\S+/.exec(await inMachine(`node ${ROOT}/bin/belljar.js token create ${name}`))?.[0];
    await using first = Object.assign(await connect(await tokenFor("first")), { [Symbol.asyncDispose]: async () => first.close() });
    await using second = Object.assign(await connect(await tokenFor("second")), { [Symbol.asyncDispose]: async () => second.close() });
    await call(first, "run_code", { language: "bash", code: "shared=by-both" });
    expect(await call(second, "run_code", { language: "bash", code: "echo $shared" })).toContain("by-both");
    expect(await call(first, "run_command", { command: "kill -9 $PPID" })).toContain("SANDBOX_ENDED");
    const after = await call(second, "run_command", { command: "cat note.txt" });
    expect(after).toMatch(/have ended\. The files of this machine are as they were/);
    expect(after).toContain("kept");
  }, 60_000);

  verifies(
    "inside-ends-with-its-server",
    async () => {
      const client = await connect();
      await call(client, "run_command", {
        command: "exec 9>/home/user/held; flock 9; setsid sleep 1000 & setsid sleep 1000",
        background: true,
      });
      const killed = machine.guest.run({ argv: ["pkill", "-KILL", "-f", "serve --inside"], signal: patiently() });
      await killed;
      // The lock is free when the last process is gone that inherited it.
      expect((await machine.guest.run({ argv: ["flock", "/home/user/held", "echo", "gone"], signal: patiently() })).stdout.toString()).toBe(
        "gone\n",
      );
      await client.close().catch(() => undefined);
      await once(server.stdout.resume(), "close").catch(() => undefined);
    },
    60_000,
  );

  verifies(
    "inside-only-when-asked",
    async () => {
      const refused = inMachine;
      const serve = `node ${ROOT}/bin/belljar.js serve --inside`;
      expect(await refused(`${serve} --home $HOME/new --listen 0.0.0.0:6070`)).toContain("token");
      expect(await refused(`${serve} --mcp-config x.json`)).toContain("--mcp-config is not for --inside");
      expect(await refused(`${serve} --toolsets files,tools`)).toContain("No toolset tools with --inside");
      for (const option of ["--listen 127.0.0.1:6070", "--as-root"])
        expect(await refused(`node ${ROOT}/bin/belljar.js serve ${option}`)).toContain("goes with --inside alone");
      await refused("touch /tmp/file; mkdir -m 0 /tmp/closed");
      expect(await refused(`WORKSPACE_DIR=/tmp/file ${serve}`)).toContain("is no folder");
      for (const folder of ["/tmp/closed", "/tmp/absent"])
        expect(await refused(`WORKSPACE_DIR=${folder} ${serve}`)).toContain("may not use it");
      await refused(`mkdir -p $HOME/other/sandboxes/abc && echo '{"runtime":"namespace"}' > $HOME/other/sandboxes/abc/sandbox.json`);
      expect(await refused(`${serve} --home $HOME/other`)).toContain("has sandboxes");
      await refused("chmod 0 $HOME/other/sandboxes/abc/sandbox.json");
      expect(await refused(`${serve} --home $HOME/other`), "not known").toContain("FILE_IO");
      expect(await refused(`BELLJAR_RUNTIME=host node ${ROOT}/bin/belljar.js sandbox list`), "no other way to it").toContain(
        'Unknown runtime "host"',
      );
      // Where a sandbox has one id alone, nobody in it is root.
      const isRoot = (await refused("id -u", "root")).trim() === "0";
      expect(isRoot ? await refused(`${serve} --home /root/b`, "root") : "--as-root").toContain("--as-root");

      const env = { WORKSPACE_DIR: "/tmp", BELLJAR_HOST: "0.0.0.0", BELLJAR_PORT: "6071" };
      const argv = ["sh", "-c", `exec 8>/home/user/display; flock 8; exec sh ${START}`];
      const byVariable = await machine.guest.exec({ argv, env, signal: patiently() });
      expect(await saysOf(byVariable), "a variable opens nothing").toContain("http://127.0.0.1:6071/mcp");
      expect(await refused(`${serve} --port 6071`)).toContain("Port 6071 on 127.0.0.1 is in use");
      byVariable.kill();
      expect(await refused("flock /home/user/display echo gone"), "with its display").toBe("gone\n");
    },
    // Some twenty starts of Belljar, each a second and more where others work beside it.
    180_000,
  );
});
