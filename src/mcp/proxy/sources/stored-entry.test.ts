import { expect, it } from "vitest";
import type { NetworkPolicy } from "../../../network/policy.ts";
import { LOCAL, type Principal } from "../../../sandbox/sandbox.ts";
import { assertMayHave } from "./may-have.ts";
import { readStoredServer } from "./stored-entry.ts";

const TOKEN: Principal = { id: "token:ann", name: "ann", grants: {} };
const looked: string[] = [];
const HOST = {
  env: { SECRET: "s3cret" },
  workspaceFolder: "/work",
  userHome: "/home/ann",
  inputs: new Map<string, string>(),
  lookOnHost: (path: string) => (looked.push(path), "folder" as const),
};
const read = (entry: Record<string, unknown>, origin: "machine" | "network" = "network") =>
  readStoredServer("one", { entry, origin }, HOST);

it.each<[field: string, entry: Record<string, unknown>]>([
  ["isolation", { command: "sh", isolation: "none" }],
  ["isolation", { command: "sh", isolation: "host" }],
  ["isolation", { url: "http://x.test", isolation: "none" }],
  ["envFile", { command: "sh", envFile: ".env" }],
  ["env_vars", { command: "sh", env_vars: ["SECRET"] }],
  ["bearer_token_env_var", { url: "http://x.test", bearer_token_env_var: "SECRET" }],
  ["env_http_headers", { url: "http://x.test", env_http_headers: { A: "SECRET" } }],
  ["command", { command: "${SECRET}/sh" }],
  ["command", { command: ["${SECRET}/sh", "-c"] }],
  ["env", { command: "sh", env: { A: "${SECRET}" } }],
  ["environment", { command: "sh", environment: { A: "x${env:SECRET}" } }],
  ["cwd", { command: "sh", cwd: "${workspaceFolder}" }],
  ["url", { url: "http://x.test/${SECRET}" }],
  ["headers", { url: "http://x.test", headers: { Authorization: "Bearer ${SECRET}" } }],
  ["auth", { url: "http://x.test", auth: { type: "bearer", token: "${SECRET}" } }],
  ["oauth", { url: "http://x.test", oauth: { clientId: "${SECRET}" } }],
])("refuses over HTTP, for the local user too, %s of %j", async (field, entry) => {
  await expect(read(entry)).rejects.toMatchObject({ code: "FORBIDDEN", message: expect.stringContaining(`"one", ${field}: `) as string });
});

it("looks at no path of the host for what came over the network, and reads no variable of it", async () => {
  looked.length = 0;
  const server = await read({ command: "sh", args: ["-c", "echo ${SECRET}", "/srv/private"], cwd: "sub" });
  expect(server?.target).toMatchObject({ args: ["-c", "echo ${SECRET}", "/srv/private"], cwd: "/sub", ownEnv: {}, env: {} });
  expect(looked).toEqual([]);
});

it("says where a person at the machine may have what is refused over HTTP", async () => {
  const advice = { message: expect.stringContaining("`belljar server add` without BELLJAR_URL") as string };
  await expect(read({ command: "sh", isolation: "none" })).rejects.toMatchObject(advice);
  const server = await read({ command: "sh", mounts: [{ host: "/srv/notes" }] });
  if (!server) throw new Error("no server");
  await expect(assertMayHave(LOCAL, server)).rejects.toMatchObject(advice);
});

it("reads an entry of the machine as a file that a person named", async () => {
  const server = await read({ command: "sh", args: ["${SECRET}"], env: { A: "${SECRET}" }, isolation: "none" }, "machine");
  expect(server?.target).toMatchObject({ args: ["s3cret"], ownEnv: { A: "s3cret" } });
  await expect(read({ command: "sh", args: ["/srv/private"] }, "machine")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});

it("knows of a server whose address came over HTTP that it did, also if it is logged in to", async () => {
  const entry = { url: "http://127.0.0.1:1/mcp", auth: { type: "oauth" } };
  expect(await read(entry)).toMatchObject({ isOfNetwork: true, target: { kind: "any", oauth: { isAsked: true } } });
  expect(await read(entry, "machine")).not.toHaveProperty("isOfNetwork");
});

it.each<[url: string, network: NetworkPolicy | undefined, missing: string | undefined]>([
  ["https://mcp.example.com/mcp", undefined, undefined],
  ["https://mcp.example.com:8443/mcp", undefined, undefined],
  ["https://mcp.example.com/mcp", "none", "https://mcp.example.com"],
  ["https://mcp.example.com/mcp", { allow: ["other.example.com"] }, "https://mcp.example.com"],
  ["https://mcp.example.com/mcp", { allow: ["https://*.example.com"] }, undefined],
  ["https://mcp.example.com:8443/mcp", { allow: ["*.example.com"] }, "https://mcp.example.com:8443"],
  ["http://127.0.0.1:1/mcp", undefined, "127.0.0.1:1"],
  ["http://169.254.169.254/mcp", undefined, "169.254.169.254:80"],
  ["http://localhost:1/mcp", "all", "localhost:1"],
  ["http://127.0.0.1:1/mcp", { allow: ["127.0.0.1:1"] }, undefined],
])("has a token name %s with the network %j if its sandboxes may go there", async (url, network, missing) => {
  const server = await read({ url });
  if (!server) throw new Error("no server");
  const may = assertMayHave({ ...TOKEN, grants: network === undefined ? {} : { network } }, server);
  if (missing === undefined) return may;
  return expect(may).rejects.toMatchObject({ code: "FORBIDDEN", message: expect.stringContaining(`network:${missing}`) as string });
});

it("judges a token by the network that the entry of an address names", async () => {
  const server = await read({ url: "https://mcp.example.com/mcp", network: { allow: ["mcp.example.com", "10.0.0.1:443"] } });
  if (!server) throw new Error("no server");
  expect(server.settings.reaches).toEqual({ allow: ["mcp.example.com", "10.0.0.1:443"] });
  await expect(assertMayHave(TOKEN, server)).rejects.toMatchObject({ code: "FORBIDDEN" });
  await assertMayHave(LOCAL, server);
});

it("gives a folder of the host to nobody without the scope for it, and to the local user only at the machine", async () => {
  const server = await read({ command: "sh", mounts: [{ host: "/srv/notes", mode: "rw" }] });
  if (!server) throw new Error("no server");
  const may = (principal: Principal) => assertMayHave(principal, server);
  for (const principal of [LOCAL, TOKEN, { ...TOKEN, grants: { workspaces: [{ path: "/srv", mode: "ro" as const }] } }])
    await expect(may(principal)).rejects.toMatchObject({ code: "FORBIDDEN" });
  await may({ ...TOKEN, grants: { workspaces: [{ path: "/", mode: "rw" }] } });
});

it("gives a server no network beyond its owner's", async () => {
  const server = await read({ command: "sh", network: { allow: ["example.com"] } });
  if (!server) throw new Error("no server");
  await expect(assertMayHave({ ...TOKEN, grants: { network: "none" } }, server)).rejects.toMatchObject({ code: "FORBIDDEN" });
  await assertMayHave(TOKEN, server);
});

it("gives a server that came over HTTP no secret's value, whoever sent it", async () => {
  const raw = { command: "sh", secrets: { key: { env: "KEY", deliver: "raw" } } };
  await expect(read(raw)).rejects.toMatchObject({
    code: "FORBIDDEN",
    message: expect.stringContaining('"one", secrets.key: ') as string,
  });
  expect((await read(raw, "machine"))?.settings.secrets).toEqual({ key: { env: "KEY" } });
  const held = { command: "sh", secrets: { key: { env: "KEY", hosts: ["api.example.com"] } } };
  expect((await read(held))?.settings.secrets).toMatchObject({ key: { hosts: ["api.example.com"] } });
});

it("reads a disabled entry as none", async () => {
  expect(await read({ command: "sh", disabled: true })).toBeUndefined();
});
