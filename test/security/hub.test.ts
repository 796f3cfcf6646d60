import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { ClientAnswer } from "../../src/catalog/question.ts";
import { type CreateOptions, LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { readPackageLaunch } from "../../src/mcp/proxy/prepare/package-launch.ts";
import { PackagePrograms } from "../../src/mcp/proxy/prepare/package-programs.ts";
import { type HubLab, hubServer, openHubLab, SERVER_CODE } from "../support/hub-lab.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { openPackageLab } from "../support/package-lab.ts";
import { textOf } from "../support/tools-lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const OTHER: Principal = { id: "other", name: "other" };

verifies(
  "servers-stay-inside",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
    const secret = join(folder, "secret");
    await writeFile(secret, "kept");
    const listener = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const env = { PATH: process.env["PATH"] ?? "", HOME: "/home/ann", OWN: "given" };
    await using lab = await openHubLab({ bare: hubServer({ isolation: "none" }), one: hubServer({ env: { GIVEN: "${OWN}" } }) }, { env });
    try {
      await lab.until(
        () => lab.names().some((name) => name.startsWith("mcp_bare")) && lab.names().some((name) => name.startsWith("mcp_one")),
      );
      const attack = async (server: string) => {
        const where = JSON.parse(textOf(await lab.call(`mcp_${server}_where`, { path: secret }))) as { env: object; sees: boolean };
        const wrote = textOf(await lab.call(`mcp_${server}_write`, { path: secret }));
        const reached = textOf(await lab.call(`mcp_${server}_reach`, { port }));
        return { sees: where.sees, wrote, reached, hasHome: Object.entries(where.env).some(([, value]) => value === "/home/ann") };
      };
      expect(await attack("bare"), "the attack works on the host").toEqual({
        sees: true,
        wrote: "written",
        reached: "reached",
        hasHome: true,
      });
      await writeFile(secret, "kept");
      expect(await attack("one")).toEqual({ sees: false, wrote: "ENOENT", reached: "ECONNREFUSED", hasHome: false });
      expect(await readFile(secret, "utf8")).toBe("kept");
    } finally {
      listener.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

verifies(
  "calls-approved",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
    const mounts = [{ host: folder, mode: "rw" }];
    await using lab = await openHubLab({ free: hubServer({ mounts }), held: hubServer({ mounts, approve: "destructive" }) });
    try {
      await lab.until(() => lab.states()["free"] === "ready" && lab.states()["held"] === "ready");
      const write = async (server: string, name: string, ask?: () => Promise<ClientAnswer>) => {
        const result = await lab.call(`mcp_${server}_write`, { path: `/workspace/${name}` }, ask ? { ask } : {});
        return [(result.value as { readonly code?: string }).code, existsSync(join(folder, name))];
      };
      expect(await write("free", "a"), "without a word in its entry it writes").toEqual([undefined, true]);
      expect(await write("held", "b")).toEqual(["APPROVAL_NEEDED", false]);
      expect(await write("held", "b", async () => ({ action: "decline" }))).toEqual(["FORBIDDEN", false]);
      const [waiting] = await lab.approvals.list();
      expect(waiting?.shown).toContain('"path": "/workspace/b"');
      await lab.approvals.give(waiting?.id ?? "");
      expect(await write("held", "c"), "an approval is for one call alone").toEqual(["APPROVAL_NEEDED", false]);
      expect(await write("held", "b")).toEqual([undefined, true]);
      await rm(join(folder, "b"));
      expect(await write("held", "b"), "and is used up").toEqual(["APPROVAL_NEEDED", false]);
      expect(await write("held", "d", async () => ({ action: "accept", content: {} }))).toEqual([undefined, true]);
      // The holder of a token answers for itself, and not for the person whose server it is.
      const ann: Principal = { id: "token:ann", name: "ann", grants: { servers: ["held"] } };
      const asks = { principal: ann, ask: async (): Promise<ClientAnswer> => ({ action: "accept", content: {} }) };
      const shared = (): Promise<unknown> => lab.call("mcp_held_write", { path: "/workspace/e" }, asks);
      expect(await shared()).toMatchObject({ isError: true, value: { code: "APPROVAL_NEEDED" } });
      expect(existsSync(join(folder, "e"))).toBe(false);
      await lab.approvals.give((await lab.approvals.list()).find(({ principal }) => principal === ann.id)?.id ?? "");
      await shared();
      expect(existsSync(join(folder, "e"))).toBe(true);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

verifies(
  "servers-apart",
  async () => {
    await using lab = await openHubLab({ one: hubServer() });
    await lab.until(() => lab.names().length > 0);
    const count = async (clientId: string) => textOf(await lab.call("mcp_one_count", {}, { clientId }));
    expect([await count("one"), await count("one")], "an instance keeps what its calls leave").toEqual(["1", "2"]);
    expect(await count("two")).toBe("1");
    const [first, second] = await Promise.all(
      ["one", "two"].map(async (clientId) => lab.call("mcp_one_where", { path: "/" }, { clientId })),
    );
    const host = (result: typeof first) => (JSON.parse(textOf(result!)) as { host: string }).host;
    expect(host(first)).not.toBe(host(second));
    expect(lab.names(OTHER)).toEqual([]);
    await expect(lab.call("mcp_one_count", {}, { principal: OTHER })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  },
  120_000,
);

verifies(
  "server-packages-apart",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
    await using index = await openPackageLab();
    const mark = join(folder, "touched");
    const attack = `import { writeFileSync } from "node:fs"; for (const path of [${JSON.stringify(mark)}, "ran"]) writeFileSync(path, "");`;
    await outside(["node", "--input-type=module", "-e", attack], { cwd: folder });
    expect(existsSync(mark), "the attack works on the host").toBe(true);
    await rm(mark);
    const offer = (code: string): void =>
      index.offerPrograms("probing", "1.0.0", { probing: code, install: attack }, { scripts: { install: "node install.mjs" } });
    offer(SERVER_CODE);
    const entry = { command: "npx", args: ["-y", "probing"], env: { TOKEN: "t0ken" }, mounts: [{ host: folder, mode: "rw" }] };
    await using lab = await openHubLab({ one: entry }, { packages: index });
    try {
      await lab.until(() => lab.names().length > 0);
      const ran = await lab.call("mcp_one_where", { path: "/home/user/.belljar-packages/node_modules/probing/ran" });
      expect(JSON.parse(textOf(ran))).toMatchObject({ sees: false });
      expect(existsSync(mark)).toBe(false);
      expect(textOf(await lab.call("mcp_one_reach", { port: Number(new URL(index.settings.registryUrl).port) }))).not.toBe("reached");
      await assertInstallsApart(lab, index.settings);
      for (const { id } of await lab.sandboxes.hiddenSnapshots.list()) await lab.sandboxes.hiddenSnapshots.remove(id);
      offer("another program of the same version");
      const again = lab.call("mcp_one_count", {}, { clientId: "again" });
      expect(textOf(await again)).toContain("EINTEGRITY");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

verifies(
  "server-secrets-apart",
  async () => {
    const [value, raw, written] = ["sk-planted-0123456789abcdef", "raw-planted-0123456789", "written-planted-012345"];
    await using on = await openSecretLab();
    const [api, thief] = await Promise.all(
      ["api.secret.test", "thief.secret.test"].map((host) => on.https(host, (_request, response) => response.end("came"))),
    );
    await on.store.set(LOCAL.id, "held", value);
    await on.store.set(LOCAL.id, "plain", raw);
    const network = { allow: [api!.authority, thief!.authority] };
    const secrets = { held: { env: "API_KEY", hosts: [api!.authority] }, plain: { env: "PLAIN", deliver: "raw" } };
    const env = { PATH: process.env["PATH"] ?? "" };
    await using lab = await openHubLab(
      {
        bare: hubServer({ isolation: "none", env: { API_KEY: value } }),
        one: hubServer({ network, secrets, env: { SOME_TOKEN: written } }),
        other: hubServer({ network }),
      },
      { on, env },
    );
    await lab.until(() => ["bare", "one", "other"].every((server) => lab.states()[server] === "ready"));
    const sees = async (server: string): Promise<string> => textOf(await lab.call(`mcp_${server}_where`, { path: "/" }));
    expect(await sees("bare"), "a server on the host sees it").toContain(value);
    expect(await sees("one")).not.toContain(value);
    const seen = await sees("other");
    for (const one of [value, raw, written]) expect(seen).not.toContain(one);
    await lab.call("mcp_one_fetch", { url: `${api!.url}/`, variable: "API_KEY" });
    await lab.call("mcp_one_fetch", { url: `${thief!.url}/`, variable: "API_KEY" });
    expect(api!.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`]);
    expect(JSON.stringify(thief!.requests.map(({ headers }) => headers))).not.toContain(value);
    const told = [];
    for (const variable of ["PLAIN", "SOME_TOKEN"]) {
      await lab.call("mcp_one_say", { variable });
      told.push(textOf(await lab.call("mcp_one_fail", { variable })), textOf(await lab.call("mcp_one_encoded", { variable })));
    }
    await lab.hub.restart(LOCAL, "one");
    told.push(...lab.hub.logs(LOCAL, "one"), ...lab.problems, JSON.stringify(lab.hub.servers(LOCAL)));
    expect(told.join("\n")).toContain("the key is [");
    for (const one of [value, raw, written])
      for (const form of [one, Buffer.from(one).toString("base64"), Buffer.from(one).toString("hex")])
        expect(told.join("\n")).not.toContain(form);
  },
  120_000,
);

/** The sandbox of an install is asked for with the index and nothing else; nobody but its owner begins with what it made. */
async function assertInstallsApart(lab: HubLab, settings: { readonly registryUrl: string }): Promise<void> {
  const asked: CreateOptions[] = [];
  const { sandboxes, path } = lab;
  const create: typeof sandboxes.create = (principal, options, signal) => {
    asked.push(options);
    return sandboxes.create(principal, options, signal);
  };
  const watched = { create, hiddenSnapshots: sandboxes.hiddenSnapshots };
  const options = { ...settings, sandboxes: watched, folder: join(path, "server-packages"), report: () => undefined };
  await using programs = new PackagePrograms(options);
  const launch = readPackageLaunch({ name: "one", command: "npx", args: ["-y", "probing"] });
  const signal = AbortSignal.timeout(100_000);
  const others = await programs.prepare(OTHER, launch!, signal);
  const rule = settings.registryUrl.replace(/\/$/, "");
  expect(asked).toEqual([{ network: { allow: [rule] }, isHidden: true, ephemeral: true, timeoutMs: expect.any(Number) }]);
  expect((await programs.prepare(LOCAL, launch!, signal)).snapshot).not.toBe(others.snapshot);
  expect(asked, "the local user has it").toHaveLength(1);
  for (const principal of [LOCAL, OTHER])
    await expect(sandboxes.create(principal, { template: others.snapshot }, signal)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
}
