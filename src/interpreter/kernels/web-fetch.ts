import type { IncomingMessage, RequestOptions } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex, Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

/** The response of a URL, after redirects. */
export interface Fetched {
  readonly url: URL;
  readonly status: number;
  /** The server's Content-Type, in lower case. */
  readonly contentType: string;
  readonly body: Buffer;
  /** True if the body has more than `maxBytes`. */
  readonly isCut: boolean;
}

export interface FetchOptions {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Environment variables, with a proxy for each scheme. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The reason why nothing was fetched. `refused` means: refused by the sandbox's network policy. */
export class FetchFailure extends Error {
  readonly kind: "refused" | "failed";

  constructor(kind: "refused" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

const REDIRECTS_MAX = 10;
const REASON_MAX_BYTES = 4_096;
const HEADERS = {
  accept: "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,application/pdf;q=0.8,*/*;q=0.5",
  "accept-encoding": "gzip, deflate, br",
  "user-agent": "Mozilla/5.0 (compatible; Belljar web_visit)",
};

/** GETs a page through the sandbox's proxies, because their refusals name a reason. */
export async function fetchPage(address: URL, options: FetchOptions): Promise<Fetched> {
  let url = address;
  for (let step = 0; step <= REDIRECTS_MAX; step += 1) {
    const response = await ask(url, options);
    const next = redirectOf(response, url);
    if (next === undefined) return readAnswer(url, response, options.maxBytes);
    response.destroy();
    if (next.protocol !== "http:" && next.protocol !== "https:")
      throw new FetchFailure("failed", `It redirects to ${next.protocol}, which is not a web page`);
    url = next;
  }
  throw new FetchFailure("failed", `It redirects more than ${REDIRECTS_MAX} times`);
}

async function ask(url: URL, { env, signal }: FetchOptions): Promise<IncomingMessage> {
  const scheme = url.protocol.slice(0, -1);
  const proxy = env[`${scheme}_proxy`];
  if (proxy === undefined || isExempt(url, env["no_proxy"])) return send(url, { signal, headers: HEADERS, agent: false });
  const { hostname, port } = new URL(proxy);
  if (scheme === "https") {
    const socket = await openTunnel(url, { hostname, port }, signal);
    // No http.Agent, because an agent would open connections of its own.
    const createConnection = (): Duplex => connectTls({ socket, servername: serverNameOf(url) });
    return send(url, { signal, headers: HEADERS, createConnection });
  }
  const headers = { ...HEADERS, host: url.host };
  const response = await send(url, { signal, headers, agent: false, hostname, port, path: `${url.origin}${url.pathname}${url.search}` });
  if (response.headers["x-belljar-error"] !== undefined) throw await refusal(response, response.headers["x-belljar-error"]);
  return response;
}

/** Servers inside the sandbox are reached without a proxy. */
function isExempt({ hostname }: URL, exempt = ""): boolean {
  return exempt.split(",").includes(hostname.replace(/^\[|\]$/g, ""));
}

function send(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options);
  return new Promise((done, reject) => {
    request.once("response", done).once("error", (cause) => reject(new FetchFailure("failed", describe(cause), { cause })));
    request.end();
  });
}

function openTunnel(url: URL, proxy: { readonly hostname: string; readonly port: string }, signal: AbortSignal): Promise<Duplex> {
  const path = `${url.hostname}:${url.port || 443}`;
  const request = requestHttp({ ...proxy, method: "CONNECT", path, headers: { host: path }, agent: false, signal });
  return new Promise((done, reject) => {
    request.once("error", (cause) => reject(new FetchFailure("failed", describe(cause), { cause })));
    request.once("connect", (response, socket, head) => {
      if (response.statusCode === 200) return done(socket);
      if (head.length > 0) socket.unshift(head);
      return void refusal(socket, response.headers["x-belljar-error"]).then(reject, reject);
    });
    request.end();
  });
}

function serverNameOf({ hostname }: URL): string {
  return /^[\d.]+$|^\[/.test(hostname) ? "" : hostname;
}

async function refusal(stream: Readable, reason: unknown): Promise<FetchFailure> {
  const text = (await readUpTo(stream, REASON_MAX_BYTES)).bytes.toString("utf8").replace(/^Belljar: /, "");
  const isPolicy = typeof reason === "string" && !/^(no-address|unreachable|connection-refused|reset|bad-|timed-out|internal)/.test(reason);
  return new FetchFailure(isPolicy ? "refused" : "failed", text.trim());
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, base: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined;
  return URL.canParse(headers.location, base.href) ? new URL(headers.location, base) : undefined;
}

async function readAnswer(url: URL, response: IncomingMessage, maxBytes: number): Promise<Fetched> {
  const { bytes, isCut } = await readUpTo(decode(response), maxBytes);
  response.destroy();
  return { url, status: response.statusCode ?? 0, contentType: (response.headers["content-type"] ?? "").toLowerCase(), body: bytes, isCut };
}

function decode(response: IncomingMessage): Readable {
  const decoder = createDecoder((response.headers["content-encoding"] ?? "").trim().toLowerCase());
  if (!decoder) return response;
  response.once("error", (error) => decoder.destroy(error));
  return response.pipe(decoder);
}

function createDecoder(encoding: string): Duplex | undefined {
  if (encoding === "br") return createBrotliDecompress();
  if (encoding === "deflate") return createInflate();
  return encoding === "gzip" || encoding === "x-gzip" ? createGunzip() : undefined;
}

/** The limit applies to the decompressed bytes, so that a small response cannot expand without end. */
async function readUpTo(stream: Readable, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } catch (cause) {
    throw new FetchFailure("failed", describe(cause), { cause });
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: size > maxBytes };
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === "" && "code" in cause ? String(cause.code) : cause.message;
}
