import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as requestPlainly } from "node:http";
import { request as requestSecurely } from "node:https";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { TurnsByKey } from "../../src/async/turns-by-key.ts";
import type { MadeWith } from "../../src/gateway/e2b/control/made-with.ts";
import { toLabels } from "../../src/gateway/e2b/control/made-with.ts";
import type { E2bSettings } from "../../src/gateway/e2b/e2b.ts";
import { createSandboxTokens } from "../../src/gateway/e2b/sandbox-tokens.ts";
import type { SandboxTokens } from "../../src/gateway/e2b/sandbox-tokens.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import { createDomainAuthority, createDomainCertificates } from "../../src/network/tls/domain-authority.ts";
import type { Principal, Sandbox } from "../../src/sandbox/sandbox.ts";
import { createCallProbe } from "./call-probe.ts";
import { startInside } from "./port-lab.ts";
import type { StateHome } from "./state-home.ts";
import { openStateHome } from "./state-home.ts";

export const DOMAIN = "e2b.localhost";
export const OWNER: Principal = { id: "token:agent", name: "agent" };

/** A gateway with E2B's surfaces on real sandboxes, plainly and by TLS under `DOMAIN`. */
export interface E2bPortsLab extends AsyncDisposable {
  readonly home: StateHome;
  readonly tokens: SandboxTokens;
  readonly origin: URL;
  /** What a test may change. */
  readonly given: { publicTraffic: boolean; hasKey: boolean };
  readonly failures: unknown[];
  /** A sandbox as a client of E2B's makes it. */
  make(made?: Partial<MadeWith>): Promise<Sandbox>;
  ask(asked: PortQuestion): Promise<PortReply>;
  /** Resolves with the head of the answer. */
  open(asked: PortQuestion): Promise<IncomingMessage>;
  /** A WebSocket by the same ways. */
  connect(asked: PortQuestion): WebSocket;
}

export interface PortQuestion {
  /** Of the Host header. Below `DOMAIN` the question goes by TLS. */
  readonly host?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** The name that a handshake asks for, where that is another one than `host`; false: there is none. */
  readonly handshake?: string | false;
}

export interface PortReply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** Undefined for what is no JSON. */
  readonly json: unknown;
}

export async function openE2bPortsLab(): Promise<E2bPortsLab> {
  const home = await openStateHome();
  const authority = createDomainAuthority(DOMAIN);
  const given = { publicTraffic: true, hasKey: true };
  const failures: unknown[] = [];
  const tokens = createSandboxTokens(randomBytes(32));
  const settings: E2bSettings = {
    network: "none",
    volumeQuotaBytes: 2 ** 20,
    pausedRetentionMs: 600_000,
    get publicTraffic() {
      return given.publicTraffic;
    },
  };
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: home.sandboxes,
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("nobody asks")),
    e2b: {
      tokens,
      keys: { of: async () => (given.hasKey ? [{}] : []) },
      settings,
      turns: new TurnsByKey(),
      noteClient: () => undefined,
      domain: { name: DOMAIN, certificates: createDomainCertificates(authority, DOMAIN) },
    },
    version: "1.2.3",
    log: { error: (what) => void failures.push(what) },
  });
  const origin = await gateway.listen();
  const placeOf = ({ host = origin.host, method = "GET", path = "/", headers = {}, handshake }: PortQuestion) => {
    const isSecure = handshake !== false && (handshake !== undefined || host.endsWith(`.${DOMAIN}`));
    const servername = handshake || host;
    const named = { host: `${host}${host.includes(":") ? "" : `:${origin.port}`}`, ...headers };
    const place = { host: origin.hostname, port: Number(origin.port), method, path, headers: named, agent: false as const };
    return isSecure ? { ...place, isSecure, servername, ca: authority.certificatePem } : { ...place, isSecure };
  };
  const open = async (asked: PortQuestion): Promise<IncomingMessage> => {
    const { isSecure, ...place } = placeOf(asked);
    const sent = (isSecure ? requestSecurely : requestPlainly)(place);
    sent.end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    sent.on("error", () => undefined);
    return answer;
  };
  return {
    home,
    tokens,
    origin,
    given,
    failures,
    open,
    make: async (made = {}) =>
      home.sandboxes.create(OWNER, { metadata: toLabels({}, { template: "base", ...made }) }, AbortSignal.timeout(30_000)),
    async ask(asked) {
      const answer = await open(asked);
      const body = await text(answer);
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: body, json: parse(body) };
    },
    connect(asked) {
      const { isSecure, host, port, path, ...place } = placeOf(asked);
      return new WebSocket(`${isSecure ? "wss" : "ws"}://${host}:${port}${path}`, place);
    },
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await home[Symbol.asyncDispose]();
    },
  };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Answers with what it was asked, sets cookies and lets pages in, redirects, begins an answer without an end, and greets WebSockets. */
export const SITE = `
const http = require("node:http"), { createHash } = require("node:crypto");
const server = http.createServer((request, response) => {
  if (request.url === "/hang") return response.writeHead(200).write("begun");
  if (request.url.startsWith("/to?")) return response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end();
  response.setHeader("set-cookie", "a=1; Domain=localhost");
  response.setHeader("access-control-allow-origin", "https://app.example");
  response.setHeader("access-control-allow-credentials", "true");
  response.end(JSON.stringify({ url: request.url, method: request.method, headers: request.headers }));
});
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  const said = Buffer.from("hello " + request.headers.host);
  socket.on("error", () => {});
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  socket.write(Buffer.concat([Buffer.from([0x81, said.length]), said]));
});
server.listen(Number(process.argv[1]), "127.0.0.1", () => console.log("ready"));
`;

/** Starts a web server inside. */
export async function serveInside({ guest }: Sandbox, port: number): Promise<void> {
  await startInside(guest, ["node", "-e", SITE, String(port)], AbortSignal.timeout(50_000));
}

/** The three ways to a port of a sandbox: two names, and two headers. */
export function waysTo({ id }: Pick<Sandbox, "id">, port: number): readonly (PortQuestion & { readonly host?: string })[] {
  return [
    { host: `${port}-${id}.localhost` },
    { host: `${port}-${id}.${DOMAIN}` },
    { headers: { "e2b-sandbox-id": id, "e2b-sandbox-port": String(port) } },
  ];
}
