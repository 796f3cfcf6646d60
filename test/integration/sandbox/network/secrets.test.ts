import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createRecordedEgress } from "../../../support/recorded-egress.ts";
import { createSecretStore } from "../../../../src/secrets/create-secret-store.ts";
import type { SecretStore } from "../../../../src/secrets/secret-store.ts";
import type { FakeHost } from "../../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../../src/runtime/fake/fake-runtime.ts";
import type { LocalSandboxes } from "../../../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../../../src/sandbox/local-sandboxes.ts";
import type { CreateOptions } from "../../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { byName } from "../../../support/by-name.ts";

const config = { sandbox: { timeoutMs: 3_600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;
const VALUE = "sk-the-value-itself";
const withCode = (code: string, message = "") =>
  expect.objectContaining({ name: "BelljarError", code, message: expect.stringContaining(message) });
const KEY: CreateOptions = {
  network: { allow: ["api.example.com"] },
  secrets: { API_KEY: { secret: "api", hosts: ["api.example.com"] } },
};

let home: string;
let host: FakeHost;
let store: SecretStore;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "belljar-sec-"));
  host = new Map();
  store = createSecretStore({ home });
  await store.set(LOCAL.id, "api", VALUE);
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

function openHome(egress = createRecordedEgress()): LocalSandboxes {
  return createLocalSandboxes({ home, runtimes: byName(fakeRuntime({ host })), config, egress, secrets: store });
}

function rootOf(id: string): string {
  return join(home, "sandboxes", id, "root");
}

it("gives the variable a placeholder, the same to every process", async () => {
  await using maker = openHome();
  const { id, guest } = await maker.create(LOCAL, KEY, signal);
  await using other = openHome();
  const print = { argv: ["sh", "-c", "printf %s $API_KEY"], signal };
  const placeholder = (await guest.run(print)).stdout.toString();
  expect(placeholder).toMatch(/^belljar_secret_/);
  expect((await (await other.get(LOCAL, id)).guest.run(print)).stdout.toString()).toBe(placeholder);
});

it("shows which secrets a sandbox uses, and writes no value anywhere on the home in the clear", async () => {
  await using sandboxes = openHome();
  const sandbox = await sandboxes.create(LOCAL, KEY, signal);
  expect((await sandbox.info()).secrets).toEqual({ API_KEY: { secret: "api", hosts: ["api.example.com"] } });
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const texts = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
  expect(texts.some((text) => text.includes("belljar_secret_"))).toBe(true);
  expect(texts.filter((text) => text.includes(VALUE))).toEqual([]);
});

it("makes programs trust an authority of the sandbox's own before it is given out", async () => {
  await using sandboxes = openHome();
  const [one, other] = [await sandboxes.create(LOCAL, KEY, signal), await sandboxes.create(LOCAL, KEY, signal)];
  const read = (id: string) => readFileSync(join(rootOf(id), "etc/ssl/certs/belljar-ca.pem"), "utf8");
  expect(read(one.id)).toContain("BEGIN CERTIFICATE");
  expect(read(one.id)).not.toBe(read(other.id));
  const print = await one.guest.run({ argv: ["sh", "-c", "printf %s $NODE_EXTRA_CA_CERTS"], signal });
  expect(print.stdout.toString()).toBe("/etc/ssl/certs/ca-certificates.crt");
});

it("keeps the system's certificates beside its own", async () => {
  await using sandboxes = openHome();
  const sandbox = await sandboxes.create(LOCAL, { network: { allow: ["api.example.com"] } }, signal);
  const folder = join(rootOf(sandbox.id), "etc/ssl/certs");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "ca-certificates.crt"), "SYSTEM\n");
  await sandbox.setNetwork({ allow: ["GET https://api.example.com/v1"] });
  expect(readFileSync(join(folder, "ca-certificates.crt"), "utf8")).toMatch(/^SYSTEM\n-----BEGIN CERTIFICATE/);
});

it("guards what is served, in every process", async () => {
  await using maker = openHome();
  const { id } = await maker.create(LOCAL, KEY, signal);
  const egress = createRecordedEgress();
  await using server = openHome(egress);
  await server.serveNetworks();
  const { state } = await egress.told((event) => event.id === id);
  expect(state.guard?.terminates("api.example.com", 443)).toBe(true);
  expect(state.guard?.terminates("example.com", 443)).toBe(false);
});

it("reads the traffic of rules with a path, without any secret", async () => {
  const egress = createRecordedEgress();
  await using sandboxes = openHome(egress);
  const { id } = await sandboxes.create(LOCAL, { network: { allow: ["GET https://api.example.com/v1"] } }, signal);
  expect(egress.serves(id)?.guard).toBeDefined();
  expect(existsSync(join(rootOf(id), "etc/ssl/certs/belljar-ca.pem"))).toBe(true);
});

it.each<[string, CreateOptions, string, string]>([
  ["a host that no rule allows", { ...KEY, network: { allow: ["npm"] } }, "ARGUMENTS_INVALID", "add the rule https://api.example.com"],
  [
    "a host that only plain HTTP may reach",
    { ...KEY, network: { allow: ["http://api.example.com"] } },
    "ARGUMENTS_INVALID",
    "add the rule",
  ],
  ["no network at all", { ...KEY, network: "none" }, "ARGUMENTS_INVALID", "add the rule"],
  ["a variable that is set too", { ...KEY, env: { API_KEY: "x" } }, "ARGUMENTS_INVALID", "given twice"],
  ["a variable that is none", { ...KEY, secrets: { "A=B": { secret: "api", hosts: ["api.example.com"] } } }, "ARGUMENTS_INVALID", "A=B"],
  ["no host", { ...KEY, secrets: { A: { secret: "api", hosts: [] } } }, "ARGUMENTS_INVALID", "hosts"],
  ["a secret that is not stored", { ...KEY, secrets: { A: { secret: "gone", hosts: ["api.example.com"] } } }, "SECRET_NOT_FOUND", "gone"],
])("refuses %s, and makes nothing", async (_, options, code, message) => {
  await using sandboxes = openHome();
  await expect(sandboxes.create(LOCAL, options, signal)).rejects.toThrow(withCode(code, message));
  expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
});

it("refuses another owner's secret as one that is not there", async () => {
  await using sandboxes = openHome();
  await expect(sandboxes.create({ id: "other", name: "other" }, KEY, signal)).rejects.toThrow(withCode("SECRET_NOT_FOUND"));
});
