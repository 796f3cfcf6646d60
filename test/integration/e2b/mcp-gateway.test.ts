import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import type { ContextLab } from "../../support/context-lab.ts";
import { openContextLab, soon } from "../../support/context-lab.ts";

const TOKEN = "4f7c6a1e-token";
/** A server with the one tool `whoami`, which answers its argument, a variable and whether it sees the gateway's token. */
const SERVER = `const { createInterface } = require("node:readline");
const tool = { name: "whoami", inputSchema: { type: "object" } };
const results = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "inside", version: "1" } }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": ({ arguments: { text } }) =>
    ({ content: [{ type: "text", text: [text, process.env.NAME, process.cwd(), process.env.GATEWAY_ACCESS_TOKEN].join(" ") }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: (results[method] ?? (() => ({})))(params) }));
});`;

const REPOSITORY = `set -e
mkdir -p /srv/made && cd /srv/made && git init -q -b main .
cp /tmp/server.cjs . && git add . && git -c user.name=a -c user.email=a@b.invalid commit -qm first
mkdir -p /srv/repos/owner && git clone -q --bare /srv/made /srv/repos/owner/repo
git config --global url.file:///srv/repos/.insteadOf https://github.com/`;

let lab: ContextLab;
let sandbox: Sandbox;
beforeAll(async () => {
  lab = await openContextLab();
  sandbox = await lab.sandbox({ network: "none" });
  await sandbox.guest.files.write("/tmp/server.cjs", SERVER, { signal: soon() });
}, 60_000);
afterAll(() => lab[Symbol.asyncDispose](), 60_000);

/** As E2B's SDK runs it. */
async function bash(command: string, user = "root") {
  const env = { GATEWAY_ACCESS_TOKEN: TOKEN };
  const { exitCode, stderr, stdout } = await sandbox.guest.run({ argv: ["/bin/bash", "-l", "-c", command], user, env, signal: soon() });
  return { exitCode, stderr: stderr.toString(), stdout: stdout.toString() };
}

const start = (config: unknown, user?: string) => bash(`mcp-gateway --config '${JSON.stringify(config)}'`, user);

/** The port inside, at one of this machine. */
async function openPort(): Promise<AsyncDisposable & { readonly url: URL }> {
  const server = createServer((socket) => {
    sandbox.guest.dial(50_005, soon()).then(
      (inside) => pipeline(socket, inside, socket, () => undefined),
      () => socket.destroy(),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), [Symbol.asyncDispose]: async () => void server.close() };
}

it("serves commands and repositories to whoever has the token, and names what it cannot serve", { timeout: 60_000 }, async () => {
  expect(await bash(REPOSITORY)).toMatchObject({ exitCode: 0, stderr: "" });
  const runCmd = "exec node server.cjs";
  const started = await start({
    inside: { command: "node", args: ["/tmp/server.cjs"], env: { NAME: "command" } },
    "github/owner/repo": { installCmd: "touch installed", runCmd: `test -e installed && ${runCmd}`, envs: { NAME: "cloned" } },
    "github/owner/missing": { runCmd },
    browserbase: { apiKey: "secret" },
    broken: { command: "node", args: ["-e", "console.error(`no key`); process.exit(1)"] },
  });
  expect(started.exitCode).toBe(0);
  expect(started.stderr).toMatch(/^mcp-gateway: browserbase: not served.*"github\/OWNER\/REPO"/m);
  expect(started.stderr).toMatch(/^mcp-gateway: broken: .*no key/m);
  expect(started.stderr).toMatch(/^mcp-gateway: github\/owner\/missing: /m);
  expect(started.stderr).not.toContain("secret");
  expect((await bash("cat /etc/mcp-gateway/.token; stat -c ' %a' /etc/mcp-gateway/.token")).stdout).toBe(`${TOKEN} 600\n`);
  await using port = await openPort();
  for (const authorization of ["", "Bearer ", `Bearer ${TOKEN}x`, TOKEN])
    expect((await fetch(port.url, { method: "POST", headers: { authorization }, body: "{}" })).status, authorization).toBe(401);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(port.url, { requestInit: { headers: { authorization: `Bearer ${TOKEN}` } } }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["whoami", "github_owner_repo_whoami"]);
  const texts = await Promise.all(tools.map(async ({ name }) => (await client.callTool({ name, arguments: { text: "hej" } })).content));
  expect(texts).toMatchObject([[{ text: "hej command /root " }], [{ text: "hej cloned /root/.mcp-gateway/owner/repo " }]]);
  await client.close();
  const again = await start({ inside: { command: "node", args: ["/tmp/server.cjs"] } });
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("EADDRINUSE") as string });
});

it("fails with a reason where it can serve nothing", async () => {
  for (const config of [
    {},
    { exa: { apiKey: "k" } },
    { "github/../x": { runCmd: "true" } },
    { x: { command: "node", args: [1] } },
    [],
    null,
    1,
  ])
    expect(await start(config), JSON.stringify(config)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^mcp-gateway: /) as string,
    });
  expect(await bash("mcp-gateway --config '{'")).toMatchObject({ exitCode: 1 });
  expect(await bash("mcp-gateway pull exa")).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("exa: not served") as string });
  const own = await start({ inside: { command: "node", args: ["/tmp/server.cjs"] } }, "user");
  expect(own).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("EACCES") as string });
  const without = await bash("PATH=/nowhere /bin/sh /opt/belljar/bin/mcp-gateway --config '{}'");
  expect(without).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("no node in this sandbox") as string });
});
