import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "../../config/config.ts";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { readHubSettings } from "../../mcp/proxy/hub-settings.ts";
import { FileApprovals } from "../../mcp/proxy/sources/file-approvals.ts";
import { NamedFile } from "../../mcp/proxy/sources/named-file.ts";
import { ServerPin } from "../../mcp/proxy/sources/server-pin.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { HomeServers } from "./home-servers.ts";
import { fileApprovalsFolder, pinsFolder } from "./open-hub.ts";

let home: string;
let servers: HomeServers;
let stderr: PassThrough;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-home-servers-"));
  stderr = new PassThrough();
  const config = { ...loadConfig({ env: {}, flags: { home } }), secretsKey: "file" } as const;
  servers = new HomeServers(config, { owner: undefined, env: {}, stderr });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const strict = (command: string): HubServer => ({
  name: "one",
  target: { kind: "stdio", command, args: [], env: {} } as unknown as HubServer["target"],
  settings: readHubSettings({ command, pin: "strict" }, { file: "f", name: "one" }),
});

const pinOf = (server: HubServer) => new ServerPin({ folder: pinsFolder({ home }), owner: LOCAL.id, server, report: () => undefined });
const lists = { tools: [{ name: "count" }] };

it("forgets with a server what was approved of it, also of programs that it ran before", async () => {
  await servers.add("one", { command: "sh" });
  await pinOf(strict("sh")).take(lists);
  await servers.remove("one");
  expect(pinOf(strict("sh")).digest).toBeUndefined();
  await servers.add("one", { command: "sh" });
  await pinOf(strict("cat")).take(lists);
  await pinOf({ ...strict("cat"), name: "two" }).take(lists);
  await servers.remove("one");
  expect(pinOf(strict("cat")).digest).toBeUndefined();
  expect(pinOf({ ...strict("cat"), name: "two" }).digest).toBeDefined();
});

it("keeps what was approved of a file's server that runs the same program, and says whose name it is", async () => {
  const approvals = new FileApprovals(fileApprovalsFolder({ home }), "mcp.json");
  const file = new NamedFile({ name: "mcp.json", approvals, isShown: async () => false, redact: (text) => text });
  await file.take({ servers: [strict("sh")], unusable: [] });
  await pinOf(strict("sh")).take(lists);
  await pinOf(strict("cat")).take(lists);
  await servers.add("two", { command: "sh" });
  expect(String(stderr.read() ?? "")).toBe("");
  await servers.add("one", { command: "sh" });
  expect(String(stderr.read())).toContain('has a server "one" too');
  await servers.remove("one");
  expect(pinOf(strict("sh")).digest).toBeDefined();
  expect(pinOf(strict("cat")).digest).toBeDefined();
});
