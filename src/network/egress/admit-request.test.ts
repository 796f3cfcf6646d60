import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { incomingMessage } from "../../../test/support/incoming-message.ts";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import { BelljarError } from "../../errors.ts";
import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressState } from "../egress.ts";
import type { SecretGuard } from "../secrets/secret-guard.ts";
import { admitRequest, hasBody } from "./admit-request.ts";
import { DEFAULT_LIMITS } from "./egress-options.ts";
import { Gate } from "./gate.ts";
import type { HttpOrigin } from "./http-target.ts";
import { HttpVisit } from "./http-visit.ts";
import { Refusal } from "./refusal.ts";

interface Asked {
  readonly url?: string;
  readonly host?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The requests of one connection to a place, under a policy. */
function openVisit(state: EgressState, fixed?: HttpOrigin) {
  const records: ConnectionRecord[] = [];
  const gate = new Gate(
    {
      sandbox: { id: "a1b2c3d4e5f6g7h8i9j0", owner: "local" },
      resolver: { resolve: async () => ["1.1.1.1"] },
      limits: DEFAULT_LIMITS,
      listeners: NO_LISTENERS,
      allowances: [],
      nameAt: () => undefined,
      record: (record) => void records.push(record),
    },
    state,
  );
  const stream = new PassThrough();
  const visit = new HttpVisit(stream, { gate, via: "http", trust: {}, ...(fixed && { fixed }) });
  return {
    gate,
    records,
    async ask({ url = "/a", host = "good.test", method = "GET", headers = {} }: Asked = {}) {
      const request = incomingMessage(Object.entries({ Host: host, ...headers }), { method });
      request.url = url;
      request.httpVersion = "1.1";
      const admitted = await admitRequest(visit, request);
      stream.destroy();
      return admitted;
    },
  };
}

type Visit = ReturnType<typeof openVisit>;

/** The outgoing request, or what refuses it. */
async function admitted(visit: Visit, asked?: Asked) {
  const { outgoing } = await visit.ask(asked);
  if (outgoing instanceof Refusal) throw new Error(outgoing.text);
  return outgoing;
}

async function refusal(visit: Visit, asked?: Asked): Promise<Refusal> {
  const { outgoing } = await visit.ask(asked);
  if (outgoing instanceof Refusal) return outgoing;
  throw new Error(`It may ask for ${outgoing.path}`);
}

const place = (scheme: HttpOrigin["scheme"], port: number, host = "good.test"): HttpOrigin => ({ place: { host, port }, scheme });
const allow = (...rules: readonly string[]): EgressState => ({ policy: { allow: rules } });

describe("the request that goes out", () => {
  it.each<[origin: HttpOrigin, asked: string, sent: string]>([
    [place("http", 80), "good.test", "good.test"],
    [place("http", 80), "good.test:80", "good.test"],
    [place("http", 443), "good.test:443", "good.test:443"],
    [place("http", 8080), "GOOD.test:8080", "good.test:8080"],
    [place("https", 443), "good.test", "good.test"],
    [place("https", 80), "good.test:80", "good.test:80"],
    [place("http", 80, "::1"), "[::1]", "[::1]"],
  ])("to %j has a Host with the port unless it is the scheme's: %s", async (origin, host, sent) => {
    const visit = openVisit({ policy: { allow: [`${host.startsWith("[") ? "[::1]" : "good.test"}:${origin.place.port}`] } }, origin);
    expect((await admitted(visit, { host })).headers["host"]).toBe(sent);
  });

  it("has the client's headers without those of the connection, and frames its body itself", async () => {
    const headers = { accept: "a", connection: "x-hop", "x-hop": "1", te: "gzip", expect: "100-continue", "transfer-encoding": "Chunked" };
    const outgoing = await admitted(openVisit(allow("good.test"), place("http", 80)), { method: "POST", headers });
    expect(outgoing.headers).toEqual({ accept: "a", host: "good.test", "transfer-encoding": "chunked" });
    const bare = await admitted(openVisit(allow("good.test"), place("http", 80)), { headers: { "content-length": "3" } });
    expect(bare.headers).toEqual({ host: "good.test", "content-length": "3" });
  });

  it("has the path that was judged", async () => {
    const visit = openVisit(allow("GET http://good.test/a"), place("http", 80));
    expect((await admitted(visit, { url: "/a/./b?c=/../d" })).path).toBe("/a/b?c=/../d");
  });

  it("counts its head as sent", async () => {
    const visit = openVisit(allow("good.test"), place("http", 80));
    const { flow } = await visit.ask({ url: "/abc", headers: { accept: "12345" } });
    flow.end();
    expect(visit.records).toMatchObject([{ rule: "good.test", sentBytes: 4 + (4 + 2) + (9 + 2) + (6 + 2) + (5 + 2), receivedBytes: 0 }]);
  });
});

describe("a request is refused", () => {
  it("with the rule that is missing, and its method and path where rules name some", async () => {
    const none = await refusal(openVisit(allow("other.test"), place("http", 80)));
    expect(none).toMatchObject({ reason: "no-rule", missingRule: "good.test" });
    expect(none.text).toContain("may not reach good.test:80:");
    const long = `/${"b".repeat(300)}?secret=1`;
    const other = await refusal(openVisit(allow("GET http://good.test/a"), place("http", 80)), { url: long });
    expect(other.text).toContain(`may not reach GET /${"b".repeat(199)} of good.test:80:`);
  });

  it("with a coding of its body that not everybody reads alike", async () => {
    for (const coding of ["gzip", "gzip, chunked", "identity", ""]) {
      const visit = openVisit(allow("good.test"), place("http", 80));
      expect((await refusal(visit, { headers: { "transfer-encoding": coding } })).reason, coding).toBe("bad-request");
    }
  });

  it.each([
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-original-uri",
    "x-rewrite-url",
    "x_rewrite_url",
  ])("with %s, only if its rule has conditions", async (name) => {
    const headers = { [name]: "DELETE" };
    for (const rule of ["GET http://good.test", "http://good.test/a"])
      expect((await refusal(openVisit(allow(rule), place("http", 80)), { headers })).reason).toBe("bad-request");
    expect((await admitted(openVisit(allow("good.test"), place("http", 80)), { headers })).headers[name]).toBe("DELETE");
  });

  it.each([
    [new BelljarError("FORBIDDEN", "not for this host"), "placeholder", "not for this host"],
    [new BelljarError("SECRET_NOT_FOUND", "no such secret"), "secret-missing", "no such secret"],
    [new BelljarError("FILE_IO", "/home/ann/key is damaged"), "internal", "The request's secrets could not be looked up."],
    [new TypeError("x"), "internal", "The request's secrets could not be looked up."],
  ])("if its secrets cannot be filled in: %s", async (error, reason, text) => {
    const guard = { fillRequest: () => Promise.reject(error) } as Partial<SecretGuard> as SecretGuard;
    expect(await refusal(openVisit({ ...allow("good.test"), guard }, place("http", 80)))).toMatchObject({ reason, text });
  });

  it("with the place of its tunnel, or none, if it names no good one", async () => {
    const [tunnel, proxy] = [openVisit(allow("good.test"), place("http", 80)), openVisit(allow("good.test"))];
    const [one, other] = [await tunnel.ask({ host: "bad.test" }), await proxy.ask({ url: "/" })];
    expect([one.flow.place, other.flow.place]).toEqual([
      { host: "good.test", port: 80 },
      { host: "", port: 0 },
    ]);
  });
});

it("asks the secrets of the place for a request, and sends what they filled in", async () => {
  const asked: unknown[] = [];
  const guard = {
    fillRequest: async (target, head) => {
      asked.push(target, head.path);
      return { path: "/filled", headers: { "x-filled": "1" } };
    },
  } as Partial<SecretGuard> as SecretGuard;
  const outgoing = await admitted(openVisit({ ...allow("good.test:443"), guard }, place("https", 443)));
  await admitted(openVisit({ ...allow("good.test"), guard }, place("http", 80)));
  expect(asked).toEqual([
    { host: "good.test", port: 443, isEncrypted: true },
    "/a",
    { host: "good.test", port: 80, isEncrypted: false },
    "/a",
  ]);
  expect(outgoing).toMatchObject({ path: "/filled", headers: { "x-filled": "1" } });
});

it("is allowed for as long as a rule allows it", async () => {
  const visit = openVisit(allow("GET http://good.test/a"), place("http", 80));
  const { flow } = await visit.ask();
  expect(flow.isStillAllowed()).toBe(true);
  for (const [rules, isAllowed] of [
    [["http://good.test"], true],
    [["GET http://good.test/b"], false],
    [["https://good.test"], false],
    [["other.test"], false],
  ] as const) {
    visit.gate.update({ policy: { allow: rules } });
    expect(flow.isStillAllowed(), rules[0]).toBe(isAllowed);
  }
  const open = openVisit(allow("good.test"), place("http", 80));
  const odd = await open.ask({ url: "/a%2fb" });
  open.gate.update(allow("GET http://good.test"));
  expect(odd.flow.isStillAllowed()).toBe(false);
});

it.each<[headers: Readonly<Record<string, string>>, follows: boolean]>([
  [{}, false],
  [{ "content-length": "0" }, false],
  [{ "content-length": "1" }, true],
  [{ "transfer-encoding": "chunked" }, true],
])("knows by %j whether a body follows", (headers, follows) => {
  expect(hasBody(incomingMessage(Object.entries(headers)))).toBe(follows);
});
