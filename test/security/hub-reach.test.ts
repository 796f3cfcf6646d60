import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { ClientRecord } from "../../src/network/egress/client-gate.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { openFarServer } from "../support/far-server.ts";
import { openServersLab, type ServersLab } from "../support/servers-lab.ts";
import { textOf } from "../support/tools-lab.ts";
import { verifies } from "./verifies.ts";

const ANN: Principal = { id: "token:ann", name: "ann", grants: {} };

const stateOf = (lab: ServersLab, name: string, principal: Principal) =>
  lab.servers.servers(principal).find((one) => one.name === name)?.state;
/** Resolves once the server serves or has failed. */
const settled = (lab: ServersLab, name: string, principal: Principal) =>
  lab.until(() => ["ready", "stopped", "failed"].includes(stateOf(lab, name, principal) ?? ""));

/** A name that leads to this machine. */
verifies(
  "servers-reached-by-policy",
  async () => {
    await using far = await openFarServer();
    const folder = await mkdtemp(join(tmpdir(), "bj-reach-"));
    const file = join(folder, "mcp.json");
    const url = `http://inner.example:${far.port}/mcp`;
    await writeFile(file, JSON.stringify({ mcpServers: { named: { url: `http://localhost:${far.port}/mcp` } } }));
    try {
      await using lab = await openServersLab({ file, egress: { resolver: { resolve: async () => ["127.0.0.1"] } } });
      await settled(lab, "named", LOCAL);
      expect(stateOf(lab, "named", LOCAL), "the attack works by a file that a person named").toBe("ready");
      const before = far.asked.length;
      const bare = await lab.token("ann", "servers");
      for (const [entry, token, principal] of [
        [{ url: far.url }, undefined, LOCAL],
        [{ url: `http://localhost:${far.port}/mcp` }, undefined, LOCAL],
        [{ url: far.url, type: "sse" }, undefined, LOCAL],
        [{ url }, bare, ANN],
      ] as const) {
        expect(await lab.ask("POST /v1/servers", { name: "sly", ...entry }, token)).toMatchObject({ status: 201 });
        await settled(lab, "sly", principal);
        const [sly] = lab.servers.servers(principal).filter(({ name }) => name === "sly");
        expect(sly).toMatchObject({
          state: "failed",
          error: { code: "NETWORK_DENIED" },
          refused: [expect.stringContaining(`:${far.port}`)],
        });
        expect(sly?.error?.message).toContain(`To allow it, add to the entry of the server "sly": "network": {"allow":[`);
        const { answer } = await lab.ask("GET /v1/servers/sly/logs", undefined, token);
        expect(JSON.stringify(answer)).toContain("is not asked");
        await lab.ask("DELETE /v1/servers/sly", undefined, token);
      }
      expect(far.asked, "not one request left this machine").toHaveLength(before);
      expect(lab.connections.every(({ verdict, reason }) => verdict === "refused" && reason === "private-address")).toBe(true);
      expect(lab.connections.map(({ owner }) => owner)).toEqual(expect.arrayContaining([LOCAL.id, ANN.id]));
      // Without a scope for it no line of the entry opens it.
      const allowed = { name: "open", url, network: { allow: [`inner.example:${far.port}`] } };
      await lab.ask("POST /v1/servers", allowed, bare);
      await settled(lab, "open", ANN);
      expect([stateOf(lab, "open", ANN), far.asked.length]).toEqual(["failed", before]);
      await lab.ask("DELETE /v1/servers/open", undefined, bare);
      await lab.revokeAll("ann");
      const granted = await lab.token("ann", "servers", `network:inner.example:${far.port}`);
      await lab.ask("POST /v1/servers", allowed, granted);
      await settled(lab, "open", ANN);
      const principal: Principal = { ...ANN, grants: { managesServers: true, network: { allow: [`inner.example:${far.port}`] } } };
      expect(textOf(await lab.call("mcp_open_echo", { text: "hi" }, principal)), "the scope opens it").toBe("hi");
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  120_000,
);

/** A server that may be asked, and sends elsewhere. */
verifies(
  "servers-reached-by-policy",
  async () => {
    await using victim = await openFarServer();
    const elsewhere = (request: IncomingMessage, response: ServerResponse): boolean => {
      if (request.method === "GET" && request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" }).write(`event: endpoint\ndata: ${victim.url}\n\n`);
        return true;
      }
      response.writeHead(307, { location: request.url === "/metadata" ? "http://169.254.169.254/latest" : victim.url }).end();
      return true;
    };
    await using hostile = await openFarServer({ answer: elsewhere });
    await fetch(hostile.url, { method: "POST", body: "{}" }).then((response) => response.text());
    expect(victim.asked, "who follows it reaches the other server").toHaveLength(1);
    await using lab = await openServersLab();
    const token = await lab.token("ann", "servers", `network:127.0.0.1:${hostile.port}`);
    for (const entry of [
      { url: hostile.url },
      { url: hostile.url, type: "http" },
      { url: `http://127.0.0.1:${hostile.port}/metadata`, type: "http" },
      { url: `http://127.0.0.1:${hostile.port}/events`, type: "sse" },
    ]) {
      expect(await lab.ask("POST /v1/servers", { name: "sly", ...entry }, token)).toMatchObject({ status: 201 });
      await settled(lab, "sly", ANN);
      expect(stateOf(lab, "sly", ANN)).toBe("failed");
      await lab.ask("DELETE /v1/servers/sly", undefined, token);
    }
    expect(hostile.asked.length).toBeGreaterThan(4);
    expect(victim.asked).toHaveLength(1);
    expect(new Set(lab.connections.map(({ port }) => port))).toEqual(new Set([hostile.port]));
  },
  120_000,
);

/** A name that leads elsewhere once it was judged, and Belljar's own ports. */
verifies(
  "servers-reached-by-policy",
  async () => {
    await using judged = await openFarServer();
    await using victim = await openFarServer({ host: "127.0.0.2", port: judged.port });
    let answers = 0;
    const resolve = async (): Promise<readonly string[]> => [(answers += 1) === 1 ? "127.0.0.1" : "127.0.0.2"];
    // Who judges one answer, and connects by the next one.
    await resolve();
    await fetch(`http://${(await resolve())[0]}:${judged.port}/mcp`, { method: "POST", body: "{}" }).then((response) => response.text());
    expect(victim.asked).toHaveLength(1);
    answers = 0;
    const ours = new Set<number>();
    const listeners = { has: async (port: number) => ours.has(port) };
    const records: ClientRecord[] = [];
    let tell: (record: ClientRecord) => void = () => undefined;
    const closed = new Promise<ClientRecord>((done) => (tell = done));
    const record = (one: ClientRecord): void => (records.push(one), tell(one));
    await using lab = await openServersLab({ egress: { resolver: { resolve }, listeners, record } });
    const rule = `rebind.example:${judged.port}`;
    const token = await lab.token("ann", "servers", `network:${rule}`);
    await lab.ask("POST /v1/servers", { name: "one", url: `http://${rule}/mcp` }, token);
    await settled(lab, "one", ANN);
    const principal: Principal = { ...ANN, grants: { managesServers: true, network: { allow: [rule] } } };
    expect(textOf(await lab.call("mcp_one_echo", { text: "hi" }, principal))).toBe("hi");
    await lab.ask("DELETE /v1/servers/one", undefined, token);
    expect([victim.asked.length, (await closed).address]).toEqual([1, "127.0.0.1"]);
    ours.add(judged.port);
    const before = judged.asked.length;
    await lab.ask("POST /v1/servers", {
      name: "two",
      url: `http://127.0.0.1:${judged.port}/mcp`,
      network: { allow: [`127.0.0.1:${judged.port}`] },
    });
    await settled(lab, "two", LOCAL);
    expect(lab.servers.servers(LOCAL)).toMatchObject([{ state: "failed", error: { code: "NETWORK_DENIED" } }]);
    expect([judged.asked.length, records.at(-1)?.reason]).toEqual([before, "own-listener"]);
  },
  120_000,
);
