import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { describe, expect, it } from "vitest";
import { openOrigin } from "../../../test/support/egress-lab.ts";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import type { NetworkPolicy } from "../policy.ts";
import { createSandboxAuthority, createServerCertificates } from "../tls/sandbox-authority.ts";
import type { ClientRecord } from "./client-gate.ts";
import { createEgressClient, type EgressClient, type EgressClientOptions } from "./egress-client.ts";

const SIGNAL = AbortSignal.timeout(30_000);

interface Lab extends Disposable {
  readonly client: EgressClient;
  readonly records: readonly ClientRecord[];
  /** Resolves with the body's text. */
  read(url: string, signal?: AbortSignal): Promise<string>;
}

function openLab(policy: NetworkPolicy, options: Partial<EgressClientOptions> = {}): Lab {
  const records: ClientRecord[] = [];
  const client = createEgressClient({
    owner: "local",
    state: { policy },
    listeners: NO_LISTENERS,
    resolver: { resolve: async () => ["127.0.0.1"] },
    record: (record) => records.push(record),
    ...options,
  });
  return {
    client,
    records,
    async read(url, signal = SIGNAL) {
      using answer = await client.get({ url: new URL(url), headers: {} }, signal);
      const chunks: Uint8Array[] = [];
      for await (const chunk of answer.body) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

const serve = (answer: RequestListener): ReturnType<typeof openOrigin> => openOrigin(createServer(answer));

describe("a request of Belljar itself", () => {
  it("reaches a place of a rule, and has one line", async () => {
    await using origin = await serve((request, response) => response.end(`${request.headers.host}${request.url}`));
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    expect(await lab.read(`http://a.test:${origin.port}/x?y=1`)).toBe(`a.test:${origin.port}/x?y=1`);
    expect(lab.records).toEqual([
      expect.objectContaining({ host: "a.test", address: "127.0.0.1", verdict: "allowed", rule: `a.test:${origin.port}` }),
    ]);
  });

  it("is judged by method and path as those of a sandbox", async () => {
    await using origin = await serve((_request, response) => response.end("ok"));
    using lab = openLab({ allow: [`GET http://a.test:${origin.port}/v2`] });
    expect(await lab.read(`http://a.test:${origin.port}/v2/x`)).toBe("ok");
    await expect(lab.read(`http://a.test:${origin.port}/v3`)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
  });

  it.each([
    ["none", "none"],
    ["all, which opens no private address", "all"],
    ["a rule for another port", { allow: ["a.test:1"] }],
  ] as const)("is refused under %s, with the rule that is missing", async (_name, policy) => {
    let asked = 0;
    await using origin = await serve((_request, response) => response.end(String((asked += 1))));
    using lab = openLab(policy);
    const denied = { code: "NETWORK_DENIED", message: expect.stringContaining(`a.test:${origin.port}`) };
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject(denied);
    expect(asked).toBe(0);
    expect(lab.records).toEqual([expect.objectContaining({ verdict: "refused" })]);
  });

  it("is refused where the caller may not reach inside, whatever the rule says", async () => {
    await using origin = await serve((_request, response) => response.end("inside"));
    const policy = { allow: [`a.test:${origin.port}`] };
    using lab = openLab(policy, { state: { policy, inside: "none" } });
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
  });

  it("goes to the address that was judged, when the name leads elsewhere later", async () => {
    await using origin = await serve((_request, response) => response.end("first"));
    const answers = [["127.0.0.1"], ["169.254.169.254"]];
    using lab = openLab({ allow: [`a.test:${origin.port}`] }, { resolver: { resolve: async () => answers.shift() ?? [] } });
    expect(await lab.read(`http://a.test:${origin.port}/`)).toBe("first");
    expect(await lab.read(`http://a.test:${origin.port}/`)).toBe("first");
    expect(answers).toHaveLength(1);
  });

  it("reaches no listener of Belljar", async () => {
    await using origin = await serve((_request, response) => response.end("belljar"));
    using lab = openLab({ allow: [`a.test:${origin.port}`] }, { listeners: { has: async (port) => port === origin.port } });
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
  });

  it.each(["ftp://a.test/", "file:///etc/passwd", "http://user:pass@a.test/"])("is not made for %s", async (url) => {
    using lab = openLab("all");
    await expect(lab.read(url)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
    expect(lab.records).toEqual([]);
  });

  it("follows no redirect", async () => {
    await using origin = await serve((_request, response) => response.writeHead(302, { location: "/elsewhere" }).end());
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    using answer = await lab.client.get({ url: new URL(`http://a.test:${origin.port}/`), headers: {} }, SIGNAL);
    expect(answer).toMatchObject({ status: 302, headers: { location: "/elsewhere" } });
  });

  it("checks the certificate, by the authorities that are given", async () => {
    const authority = createSandboxAuthority();
    const certificates = createServerCertificates(authority);
    const options = {
      SNICallback: (name: string, done: (error: null, context: object) => void) => done(null, certificates.contextFor(name)),
    };
    await using origin = await openOrigin(createTlsServer(options as never, (_request, response) => response.end("safe")));
    const policy = { allow: [`a.test:${origin.port}`] };
    using stranger = openLab(policy);
    await expect(stranger.read(`https://a.test:${origin.port}/`)).rejects.toMatchObject({
      code: "NETWORK_FAILED",
      message: expect.stringContaining("certificate"),
    });
    using lab = openLab(policy, { upstreamCa: [authority.certificatePem] });
    expect(await lab.read(`https://a.test:${origin.port}/`)).toBe("safe");
  });
});

describe("an origin that misbehaves", () => {
  it("stops in the middle", async () => {
    await using origin = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
    });
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    const failed = { code: "NETWORK_FAILED", message: expect.stringContaining("middle") };
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject(failed);
  });

  it.each([
    ["no head", (): void => undefined],
    ["half a body", (_request: unknown, response: { write(text: string): unknown }): void => void response.write("half")],
  ] as const)("sends %s, and no more", async (_name, answer) => {
    await using origin = await serve(answer);
    using lab = openLab({ allow: [`a.test:${origin.port}`] }, { patienceMs: 50 });
    const failed = { code: "NETWORK_FAILED", message: expect.stringContaining("did not answer in time") };
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject(failed);
    expect(lab.records).toEqual([expect.objectContaining({ verdict: "failed", reason: "timed-out" })]);
  });

  it("sends byte after byte for ever", async () => {
    let timer: NodeJS.Timeout | undefined;
    await using origin = await serve((_request, response) => {
      timer = setInterval(() => response.write("x"), 5);
      response.once("close", () => clearInterval(timer));
    });
    using lab = openLab({ allow: [`a.test:${origin.port}`] }, { patienceMs: 100 });
    const failed = { code: "NETWORK_FAILED", message: expect.stringContaining("did not answer in time") };
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject(failed);
    clearInterval(timer);
  });

  it("sends a head without end", async () => {
    await using origin = await serve((_request, response) => response.writeHead(200, { x: "y".repeat(100_000) }).end());
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    await expect(lab.read(`http://a.test:${origin.port}/`)).rejects.toMatchObject({ code: "NETWORK_FAILED" });
  });
});

describe("a request that is given up", () => {
  it("ends with the signal's reason, before and after the head", async () => {
    const reason = new TypeError("enough");
    const silent = new AbortController();
    await using origin = await serve((request, response) => {
      if (request.url === "/half") response.write("half");
      else silent.abort(reason);
    });
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    await expect(lab.read(`http://a.test:${origin.port}/`, silent.signal)).rejects.toBe(reason);
    const half = new AbortController();
    using answer = await lab.client.get({ url: new URL(`http://a.test:${origin.port}/half`), headers: {} }, half.signal);
    const chunks = answer.body[Symbol.asyncIterator]();
    await chunks.next();
    half.abort(reason);
    await expect(chunks.next()).rejects.toBe(reason);
  });

  it("ends its connection, read or not", async () => {
    const closed: Promise<unknown>[] = [];
    await using origin = await serve((request, response) => {
      closed.push(new Promise((resolve) => request.socket.once("close", resolve)));
      response.write("half");
    });
    using lab = openLab({ allow: [`a.test:${origin.port}`] });
    {
      using _answer = await lab.client.get({ url: new URL(`http://a.test:${origin.port}/`), headers: {} }, SIGNAL);
    }
    await lab.client.get({ url: new URL(`http://a.test:${origin.port}/`), headers: {} }, SIGNAL);
    lab.client[Symbol.dispose]();
    await Promise.all(closed);
    expect(closed).toHaveLength(2);
  });
});
