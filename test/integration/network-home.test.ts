import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listSegments, verifyAudit } from "../../src/audit/verify-audit.ts";
import { createRemoteSandboxes } from "../../src/remote/remote-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { openTestHome, openTestServer } from "../support/served-home.ts";

const signal = new AbortController().signal;

interface Origin extends AsyncDisposable {
  readonly url: string;
  /** As a rule names it. */
  readonly rule: string;
}

/** `/` answers; `/endless` begins an answer that never ends. It stands for a host that no variable excepts from the proxy. */
async function openOrigin(): Promise<Origin> {
  const server: Server = createServer((request, response) => {
    if (request.url === "/endless") response.write("begun\n");
    else response.end("answered");
  });
  server.listen(0, "127.0.0.2");
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    rule: `${address}:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const sandboxesOf = ({ url }: TestServer) => createRemoteSandboxes({ url });

async function fetchInside(sandbox: Sandbox, url: string): Promise<string> {
  return (await sandbox.guest.run({ argv: ["curl", "-sS", "--max-time", "20", url], signal })).stdout.toString();
}

/** Every line of every process's audit; each segment's chain holds. */
async function readAudit({ path }: TestHome): Promise<Record<string, unknown>[]> {
  const folder = join(path, ".belljar/audit");
  const files = await listSegments(folder);
  expect(await verifyAudit({ home: join(path, ".belljar") })).toMatchObject({ isIntact: true });
  const segments = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  return segments.flatMap((segment) => segment.trimEnd().split("\n")).map((line) => JSON.parse(line) as Record<string, unknown>);
}

it("applies what the command line changes while a server serves, to connections that live too", async () => {
  await using origin = await openOrigin();
  await using home = await openTestHome();
  await using server = await openTestServer(home);
  const sandbox = await sandboxesOf(server).create(LOCAL, { network: { allow: [origin.rule] } }, signal);
  await using endless = await sandbox.guest.exec({ argv: ["curl", "-sSN", `${origin.url}/endless`], stdin: false, signal });
  expect(String(await once(endless.stdout, "data"))).toBe("begun\n");
  endless.stdout.resume();
  endless.stderr.resume();
  await home.belljar("sandbox", "network", sandbox.id, "none");
  expect((await endless.exited).exitCode).not.toBe(0);
  expect(await sandbox.environment()).not.toHaveProperty("http_proxy");
  await home.belljar("sandbox", "network", sandbox.id, "--allow", origin.rule);
  expect(await home.belljar("exec", sandbox.id, "--", "curl", "-sS", origin.url)).toBe("answered");
});

it("serves on when the process that served is killed, and after all were", async () => {
  await using origin = await openOrigin();
  await using home = await openTestHome();
  const first = await openTestServer(home);
  const { id } = await sandboxesOf(first).create(LOCAL, { network: { allow: [origin.rule] } }, signal);
  const second = await openTestServer(home);
  const seen = await sandboxesOf(second).get(LOCAL, id);
  expect(await seen.environment()).toHaveProperty("http_proxy");
  await kill(first);
  expect(await fetchInside(seen, origin.url)).toBe("answered");
  await kill(second);
  await using third = await openTestServer(home);
  expect(await fetchInside(await sandboxesOf(third).get(LOCAL, id), origin.url)).toBe("answered");
});

it("serves a sandbox that the command line made, and writes each connection into the audit", async () => {
  await using origin = await openOrigin();
  await using home = await openTestHome();
  {
    await using server = await openTestServer(home);
    const id = (await home.belljar("sandbox", "create", "--network", origin.rule)).trim();
    const sandbox = await sandboxesOf(server).get(LOCAL, id);
    expect(await fetchInside(sandbox, origin.url)).toBe("answered");
    expect(await fetchInside(sandbox, "http://198.51.100.1/")).toContain("belljar sandbox network");
  }
  const lines = (await readAudit(home)).filter(({ kind }) => kind === "connection");
  expect(lines).toEqual([
    expect.objectContaining({ owner: "local", host: "127.0.0.2", address: "127.0.0.2", verdict: "allowed", rule: origin.rule }),
    expect.objectContaining({ owner: "local", host: "198.51.100.1", port: 80, verdict: "refused", reason: "no-rule" }),
  ]);
});

async function kill({ process }: TestServer): Promise<void> {
  const exited = once(process, "exit");
  process.kill("SIGKILL");
  await exited;
}
