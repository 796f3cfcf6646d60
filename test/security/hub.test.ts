import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { ClientAnswer } from "../../src/catalog/question.ts";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { hubServer, openHubLab } from "../support/hub-lab.ts";
import { textOf } from "../support/tools-lab.ts";
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
