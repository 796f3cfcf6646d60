import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Server } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { openOrigin } from "../../../test/support/egress-lab.ts";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import { BelljarError } from "../../errors.ts";
import type { NetworkPolicy } from "../policy.ts";
import { createSandboxAuthority, createServerCertificates } from "../tls/sandbox-authority.ts";
import type { ClientRecord } from "./client-gate.ts";
import { createEgressRequests, type EgressRequestsOptions } from "./egress-requests.ts";

function openLab(policy: NetworkPolicy, options: Partial<EgressRequestsOptions> = {}) {
  const records: ClientRecord[] = [];
  const requests = createEgressRequests({
    owner: "local",
    state: { policy },
    listeners: NO_LISTENERS,
    resolver: { resolve: async () => ["127.0.0.1"] },
    record: (record) => records.push(record),
    toError: ({ reason }, { host }) => new BelljarError("NETWORK_DENIED", `${host}: ${reason}`),
    ...options,
  });
  return {
    records,
    async send(url: string, method = "POST"): Promise<string> {
      const request = requests.open(new URL(url), { method, headers: { "x-own": "1" } });
      request.end("sent");
      const [answer] = (await once(request, "response")) as [IncomingMessage];
      return text(answer);
    },
    requests,
    [Symbol.dispose]: () => requests[Symbol.dispose](),
  };
}

const serve = (answer: RequestListener): ReturnType<typeof openOrigin> => openOrigin(createServer(answer));
const echo: RequestListener = (request, response) =>
  void text(request).then((body) => response.end(`${request.method} ${request.headers.host}${request.url} ${body}`));

describe("requests of Belljar itself", () => {
  it("are sent where the policy allows", async () => {
    await using origin = await serve(echo);
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    expect(await lab.send(`http://a.test:${origin.port}/x?y=1`)).toBe(`POST a.test:${origin.port}/x?y=1 sent`);
  });

  it("share a kept connection, which is one line with its bytes once it is closed", async () => {
    let connections = 0;
    const server: Server = createServer(echo);
    server.on("connection", () => (connections += 1));
    await using origin = await openOrigin(server);
    using lab = openLab({ allow: [`a.test:${origin.port}`] }, { keepMs: 60_000 });
    for (const path of ["/1", "/2"]) await lab.send(`http://a.test:${origin.port}${path}`);
    expect([connections, lab.records]).toEqual([1, []]);
    lab.requests[Symbol.dispose]();
    expect(lab.records).toEqual([expect.objectContaining({ host: "a.test", address: "127.0.0.1", verdict: "allowed" })]);
    expect(lab.records[0]?.sentBytes).toBeGreaterThan(100);
  });

  it("are refused before a connection by method and path, and by the host", async () => {
    await using origin = await serve(echo);
    using lab = openLab({ allow: [`POST http://a.test:${origin.port}/mcp`] });
    expect(await lab.send(`http://a.test:${origin.port}/mcp/x`)).toContain("POST");
    await expect(lab.send(`http://a.test:${origin.port}/mcp`, "GET")).rejects.toMatchObject({ code: "NETWORK_DENIED" });
    await expect(lab.send(`http://a.test:${origin.port}/other`)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
    await expect(lab.send(`http://b.test:${origin.port}/mcp`)).rejects.toThrow("b.test: no-rule");
    expect(lab.records.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["no-rule", "no-rule", "no-rule"]));
  });

  it.each(["http://a.test", "http://127.0.0.1", "http://[::ffff:127.0.0.1]", "http://2130706433"])(
    "do not follow %s to this machine, unless a rule names the place",
    async (where) => {
      let reached = 0;
      await using origin = await serve((_request, response) => void response.end(String((reached += 1))));
      using lab = openLab("all");
      await expect(lab.send(`${where}:${origin.port}/`)).rejects.toThrow("private-address");
      expect([reached, lab.records]).toMatchObject([0, [{ verdict: "refused", reason: "private-address" }]]);
    },
  );

  it("never reach a listener of Belljar's own", async () => {
    let reached = 0;
    await using origin = await serve((_request, response) => void response.end(String((reached += 1))));
    using lab = openLab({ allow: [`127.0.0.1:${origin.port}`] }, { listeners: { has: async (port) => port === origin.port } });
    await expect(lab.send(`http://127.0.0.1:${origin.port}/`)).rejects.toThrow("own-listener");
    expect(reached).toBe(0);
  });

  it("go to a place outside the public Internet only if it is granted too", async () => {
    await using origin = await serve(echo);
    const state = { policy: { allow: [`127.0.0.1:${origin.port}`] }, inside: "none" } as const;
    using lab = openLab("none", { state });
    await expect(lab.send(`http://127.0.0.1:${origin.port}/`)).rejects.toThrow("private-address");
  });

  it("go to the address that was judged, whatever the name leads to next", async () => {
    await using origin = await serve(echo);
    let asked = 0;
    const resolve = async (): Promise<readonly string[]> => [(asked += 1) === 1 ? "127.0.0.1" : "127.0.0.2"];
    using lab = openLab({ allow: [`a.test:${origin.port}`] }, { resolver: { resolve } });
    for (let round = 0; round < 3; round += 1) await lab.send(`http://a.test:${origin.port}/`);
    expect([asked, new Set(lab.records.map(({ address }) => address))]).toEqual([1, new Set(["127.0.0.1"])]);
  });

  it("show a server with TLS the name that was asked, and trust no other certificate", async () => {
    const authority = createSandboxAuthority();
    const certificates = createServerCertificates(authority);
    const names: string[] = [];
    const options = {
      SNICallback: (name: string, done: (error: null, context: object) => void) => {
        names.push(name);
        done(null, certificates.contextFor(name));
      },
    };
    await using origin = await openOrigin(createTlsServer(options as never, echo));
    const policy = { allow: [`a.test:${origin.port}`] };
    using stranger = openLab(policy);
    await expect(stranger.send(`https://a.test:${origin.port}/`)).rejects.toThrow("certificate");
    expect(stranger.records).toMatchObject([{ host: "a.test", verdict: "failed", reason: "bad-certificate" }]);
    using lab = openLab(policy, { upstreamCa: [authority.certificatePem] });
    expect(await lab.send(`https://a.test:${origin.port}/`)).toContain("POST a.test");
    expect(names).toEqual(["a.test", "a.test"]);
  });
});
