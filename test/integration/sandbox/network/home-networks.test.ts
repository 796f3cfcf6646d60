import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RecordedEgress } from "../../../support/recorded-egress.ts";
import { createRecordedEgress } from "../../../support/recorded-egress.ts";
import type { Egress } from "../../../../src/network/egress.ts";
import type { FakeHost } from "../../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../../src/runtime/fake/fake-runtime.ts";
import { BelljarError } from "../../../../src/errors.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "../../../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../../../src/sandbox/local-sandboxes.ts";
import { createSandboxId } from "../../../../src/sandbox/sandbox-id.ts";
import type { Sandbox } from "../../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { HomeNetworks } from "../../../../src/sandbox/network/home-networks.ts";
import { byName } from "../../../support/by-name.ts";

const config = { sandbox: { timeoutMs: 3_600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });
const NPM = { allow: ["npm"] };
const PYPI = { allow: ["pypi"] };

let home: string;
let host: FakeHost;
let problems: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-net-"));
  host = new Map();
  problems = [];
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. */
function openHome(egress: Egress | undefined, more: Partial<LocalSandboxesOptions> = {}): LocalSandboxes {
  const report = (problem: string) => void problems.push(problem);
  return createLocalSandboxes({ home, runtimes: byName(fakeRuntime({ host })), config, report, ...(egress && { egress }), ...more });
}

async function printed(sandbox: Sandbox, name: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  return (await sandbox.guest.run({ argv: ["sh", "-c", `printf %s "$${name}"`], env, signal })).stdout.toString();
}

function filesOf(id: string): string[] {
  return readdirSync(join(home, "network")).filter((name) => name.startsWith(id));
}

/** The state file of a sandbox, as another process writes it. */
function writeState(id: string, number: number, text: string): void {
  writeFileSync(join(home, "network", `${id}.${number}.json`), text, { mode: 0o600 });
}

const policyIs = (id: string, policy: unknown) => (event: RecordedEgress["events"][number]) =>
  event.id === id && JSON.stringify(event.state.policy) === JSON.stringify(policy);

describe("a policy", () => {
  it("is served for its owner from when the sandbox is made", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const { id } = await sandboxes.create(LOCAL, { network: NPM }, signal);
    expect(await egress.told((event) => event.id === id)).toEqual({ kind: "serve", id, owner: "local", state: { policy: NPM } });
  });

  it("is what the configuration says when the maker names none", async () => {
    await using sandboxes = openHome(createRecordedEgress(), { network: NPM });
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    expect((await sandbox.info()).network).toEqual(NPM);
  });

  it("of none is served by nobody and leaves nothing on disk", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    expect(await printed(sandbox, "http_proxy")).toBe("");
    expect(egress.events).toEqual([]);
    expect(readdirSync(join(home, "network"))).toEqual([]);
  });

  it("is refused where nothing serves it, and nothing is made", async () => {
    await using sandboxes = openHome(undefined);
    await expect(sandboxes.create(LOCAL, { network: NPM }, signal)).rejects.toThrow(withCode("NOT_SUPPORTED"));
    expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  });

  it("with a rule that cannot be used is refused, and nothing is made", async () => {
    await using sandboxes = openHome(createRecordedEgress());
    await expect(sandboxes.create(LOCAL, { network: { allow: ["*.com"] } }, signal)).rejects.toThrow(withCode("ARGUMENTS_INVALID"));
    expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  });

  it("of a token's owner stays within its grant", async () => {
    await using sandboxes = openHome(createRecordedEgress(), { network: "all" });
    const narrow = { id: "a", name: "a", grants: { network: NPM } };
    await expect(sandboxes.create(narrow, { network: PYPI }, signal)).rejects.toThrow(withCode("FORBIDDEN"));
    expect((await (await sandboxes.create(narrow, {}, signal)).info()).network).toEqual(NPM);
  });

  it("gives commands the proxy's variables, which their own replace", async () => {
    await using sandboxes = openHome(createRecordedEgress());
    const sandbox = await sandboxes.create(LOCAL, { network: NPM, env: { no_proxy: "example.com" } }, signal);
    expect(await printed(sandbox, "https_proxy")).toBe("http://127.0.0.1:3128");
    expect(await printed(sandbox, "no_proxy")).toBe("example.com");
    expect(await printed(sandbox, "https_proxy", { https_proxy: "other" })).toBe("other");
  });

  it("that cannot be served is told once, keeps nobody from a command, and is tried again", async () => {
    const taken = new BelljarError("PORT_TAKEN", "A program holds 127.0.0.1:3128");
    let isTaken = true;
    const egress = createRecordedEgress(async () => {
      if (isTaken) throw taken;
    });
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, { network: NPM }, signal);
    expect(await printed(sandbox, "https_proxy")).toBe("http://127.0.0.1:3128");
    expect(problems).toEqual([expect.stringContaining("A program holds 127.0.0.1:3128")]);
    isTaken = false;
    await printed(sandbox, "https_proxy");
    expect(egress.serves(sandbox.id)).toEqual({ policy: NPM });
  });
});

describe("a change", () => {
  it("is served at once and kept", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, { network: NPM }, signal);
    await sandbox.setNetwork(PYPI);
    expect(egress.serves(sandbox.id)).toEqual({ policy: PYPI });
    expect((await sandbox.info()).network).toEqual(PYPI);
    expect(filesOf(sandbox.id)).toHaveLength(1);
    expect(statSync(join(home, "network", filesOf(sandbox.id)[0] ?? "")).mode & 0o777).toBe(0o600);
  });

  it("to none stops the way out and takes the variables away", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, { network: NPM }, signal);
    await sandbox.setNetwork("none");
    expect(egress.serves(sandbox.id)).toBeUndefined();
    expect(await printed(sandbox, "http_proxy")).toBe("");
  });

  it("a closed network is served from the first watch of its refusals on", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    expect(await printed(sandbox, "http_proxy")).toBe("");
    using _watch = await sandbox.watchRefusals();
    expect(egress.serves(sandbox.id)).toEqual({ policy: "none", answersClosed: true });
    expect(await printed(sandbox, "http_proxy")).not.toBe("");
    await sandbox.setNetwork(PYPI);
    expect(egress.serves(sandbox.id)).toEqual({ policy: PYPI, answersClosed: true });
    await sandbox.setNetwork("none");
    expect(egress.serves(sandbox.id)).toEqual({ policy: "none", answersClosed: true });
  });

  it("from none begins it", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.setNetwork("all");
    expect(egress.serves(sandbox.id)).toEqual({ policy: "all" });
    expect(await printed(sandbox, "http_proxy")).not.toBe("");
  });

  it("by another process reaches the one that serves", async () => {
    const egress = createRecordedEgress();
    await using server = openHome(egress);
    const { id } = await server.create(LOCAL, {}, signal);
    await using other = openHome(createRecordedEgress());
    await (await other.get(LOCAL, id)).setNetwork(PYPI);
    await egress.told(policyIs(id, PYPI));
    await (await other.get(LOCAL, id)).setNetwork("none");
    await egress.told((event) => event.kind === "stop" && event.id === id);
  });

  it("holds after a restart", async () => {
    const maker = openHome(createRecordedEgress());
    const sandbox = await maker.create(LOCAL, { network: NPM }, signal);
    await sandbox.setNetwork(PYPI);
    await maker[Symbol.asyncDispose]();
    const egress = createRecordedEgress();
    await using next = openHome(egress);
    const same = await next.get(LOCAL, sandbox.id);
    expect((await same.info()).network).toEqual(PYPI);
    await egress.told(policyIs(sandbox.id, PYPI));
  });

  it("that is damaged on disk closes the network and is told", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, { network: "all" }, signal);
    await egress.told(({ kind }) => kind === "serve");
    writeState(sandbox.id, 7, '{"version":1,"policy":"all"');
    await egress.told(({ kind }) => kind === "stop");
    expect((await sandbox.info()).network).toBe("none");
    expect(problems[0]).toContain(`${sandbox.id}.7.json is damaged`);
  });

  it("with a ceiling stays within what a person gave last", async () => {
    await using sandboxes = openHome(createRecordedEgress());
    const sandbox = await sandboxes.create(LOCAL, { network: { allow: ["npm", "pypi"] } }, signal);
    await sandbox.setNetwork(NPM, { capped: true });
    expect(await sandbox.info()).toMatchObject({ network: NPM, networkCeiling: { allow: ["npm", "pypi"] } });
    await sandbox.setNetwork(PYPI, { capped: true });
    await expect(sandbox.setNetwork({ allow: ["github"] }, { capped: true })).rejects.toThrow(withCode("FORBIDDEN"));
    await sandbox.setNetwork(NPM);
    await expect(sandbox.setNetwork(PYPI, { capped: true })).rejects.toThrow(withCode("FORBIDDEN"));
    expect((await sandbox.info()).network).toEqual(NPM);
  });

  it("with a ceiling that one token was granted is not raised by another of its owner", async () => {
    await using sandboxes = openHome(createRecordedEgress());
    const place = { allow: ["db.corp:5432"] };
    const granted = { id: "ann", name: "ann", grants: { network: place } };
    const plain = { id: "ann", name: "ann", grants: {} };
    const { id } = await sandboxes.create(granted, { network: place }, signal);
    await (await sandboxes.get(granted, id)).setNetwork("none", { capped: true });
    const borrowed = await sandboxes.get(plain, id);
    await expect(borrowed.setNetwork(place, { capped: true })).rejects.toThrow(withCode("FORBIDDEN"));
    expect(await borrowed.info()).toMatchObject({ network: "none", networkCeiling: place });
    await (await sandboxes.get(granted, id)).setNetwork(place, { capped: true });
    expect((await borrowed.info()).network).toEqual(place);
  });
});

describe("a server", () => {
  it("serves what lives on the home, and what others make later", async () => {
    await using maker = openHome(createRecordedEgress());
    const before = await maker.create(LOCAL, { network: NPM }, signal);
    await maker.create(LOCAL, {}, signal);
    await (await maker.create(LOCAL, { network: NPM }, signal)).kill();
    const egress = createRecordedEgress();
    await using server = openHome(egress);
    await server.serveNetworks();
    await egress.told(({ id }) => id === before.id);
    const later = await maker.create({ id: "somebody", name: "somebody" }, { network: PYPI }, signal);
    expect(await egress.told(({ id }) => id === later.id)).toMatchObject({ kind: "serve", owner: "somebody", state: { policy: PYPI } });
    expect(egress.events).toHaveLength(2);
  });

  it("lets go of one that ends, and of its file", async () => {
    const egress = createRecordedEgress();
    await using sandboxes = openHome(egress);
    const sandbox = await sandboxes.create(LOCAL, { network: NPM }, signal);
    await sandbox.kill();
    await egress.told(({ kind }) => kind === "stop");
    expect(filesOf(sandbox.id)).toEqual([]);
  });

  it("leaves no file of one that is removed before its file is written", async () => {
    await using networks = new HomeNetworks({ home, report: (problem) => void problems.push(problem) });
    const id = createSandboxId();
    await Promise.all([networks.announce({ id }, { policy: NPM, ceiling: NPM, links: [] }), networks.remove(id)]);
    expect(filesOf(id)).toEqual([]);
  });

  it("sweeps away what is left of sandboxes that are gone", async () => {
    await using sandboxes = openHome(createRecordedEgress());
    const live = await sandboxes.create(LOCAL, { network: NPM }, signal);
    await live.setNetwork(PYPI);
    writeState("a".repeat(20), 3, "{}");
    await sandboxes.sweep();
    expect(readdirSync(join(home, "network"))).toEqual(filesOf(live.id));
  });

  it("stops serving when it is disposed", async () => {
    const egress = createRecordedEgress();
    const sandboxes = openHome(egress);
    const { id } = await sandboxes.create(LOCAL, { network: NPM }, signal);
    await sandboxes[Symbol.asyncDispose]();
    expect(egress.serves(id)).toBeUndefined();
    expect(host.has(id)).toBe(true);
  });
});

describe("links to ports", () => {
  it("are made once, whoever asks, and kept", async () => {
    await using one = openHome(undefined);
    await using other = openHome(undefined);
    const sandbox = await one.create(LOCAL, {}, signal);
    const same = await other.get(LOCAL, sandbox.id);
    const links = await Promise.all([sandbox, same, sandbox, same].map((asked) => asked.registerPort(8000, "token")));
    expect(new Set(links.map(({ token }) => token)).size).toBe(1);
    expect(links[0]).toMatchObject({ sandbox: sandbox.id, port: 8000, access: "token", token: expect.stringMatching(/^[\w-]{43}$/) });
    await using third = openHome(undefined);
    expect(await (await third.get(LOCAL, sandbox.id)).portLinks()).toEqual([links[0]]);
  });

  it("lose none when two processes make many at once", async () => {
    await using one = openHome(undefined);
    await using other = openHome(undefined);
    const sandbox = await one.create(LOCAL, {}, signal);
    const same = await other.get(LOCAL, sandbox.id);
    const ports = Array.from({ length: 10 }, (_, index) => 8000 + index);
    await Promise.all(ports.map((port, index) => (index % 2 === 0 ? sandbox : same).registerPort(port, "public")));
    await using third = openHome(undefined);
    const links = await (await third.get(LOCAL, sandbox.id)).portLinks();
    expect(links.map(({ port }) => port).toSorted((low, high) => low - high)).toEqual(ports);
    expect(JSON.parse(readFileSync(join(home, "network", filesOf(sandbox.id)[0] ?? ""), "utf8"))).toMatchObject({ policy: "none" });
  });

  it("change their access with another token", async () => {
    await using sandboxes = openHome(undefined);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    const first = await sandbox.registerPort(8000, "token");
    expect(await sandbox.registerPort(8000, "public")).not.toHaveProperty("token");
    expect((await sandbox.registerPort(8000, "token")).token).not.toBe(first.token);
    expect(await sandbox.portLinks()).toHaveLength(1);
  });

  it("end at their time, which can be set anew, and another one takes their place", async () => {
    await using sandboxes = openHome(undefined);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    const soon = new Date(Date.now() + 3_600_000);
    const first = await sandbox.registerPort(8000, "token", soon);
    expect((await sandbox.portLinks()).map(({ expiresAt }) => expiresAt)).toEqual([soon]);
    expect(await sandbox.registerPort(8000, "token")).toEqual(first);
    const over = await sandbox.registerPort(8000, "token", new Date(Date.now() - 1));
    expect(over.token).toBe(first.token);
    expect(await sandbox.portLinks()).toEqual([]);
    const next = await sandbox.registerPort(8000, "token");
    expect(next.token).not.toBe(first.token);
    expect(next).not.toHaveProperty("expiresAt");
  });

  it("are removed for every process, of a stopped sandbox too", async () => {
    await using one = openHome(undefined);
    await using other = openHome(undefined);
    const sandbox = await one.create(LOCAL, {}, signal);
    for (const port of [8000, 9000]) await sandbox.registerPort(port, "public");
    const same = await other.get(LOCAL, sandbox.id);
    expect(await same.removePort(8000)).toBe(true);
    // Another process hears of it a moment later.
    await vi.waitFor(async () => expect((await sandbox.portLinks()).map(({ port }) => port)).toEqual([9000]), { timeout: 20_000 });
    expect(await sandbox.removePort(8000)).toBe(false);
    await sandbox.stop();
    const stopped = await other.get(LOCAL, sandbox.id);
    expect(await stopped.removePort(9000)).toBe(true);
    expect(await stopped.portLinks()).toEqual([]);
  });

  it.each([0, -1, 1.5, 65_536, Number.NaN])("are refused for the port %d", async (port) => {
    await using sandboxes = openHome(undefined);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await expect(sandbox.registerPort(port, "token")).rejects.toThrow(withCode("ARGUMENTS_INVALID"));
  });
});
