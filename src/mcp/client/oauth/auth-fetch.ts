import type { LookupAddress, LookupAllOptions } from "node:dns";
import { lookup } from "node:dns";
import { request as requestHttp } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import type { Reach } from "./reach.ts";
import type { HttpWay } from "../transport/http-way.ts";
import { bareHost, isLoopbackUrl, isWithin, mayName, reachOfHost } from "./reach.ts";

const ANSWER_MAX_BYTES = 262_144;
const TIMEOUT_MS = 15_000;

/** What the requests of a login are held by. */
export interface AuthFetchOptions {
  /** For messages. */
  readonly server: string;
  /** That of the MCP server, which names where the requests go. */
  readonly reach: Reach;
  readonly signal?: AbortSignal | undefined;
  /** How requests leave this machine, which judges their addresses too. Default: each one may. */
  readonly way?: HttpWay | undefined;
}

/**
 * A `fetch` for what belongs to a login, whose addresses strangers name. It speaks TLS, but with this machine itself. It connects to no
 * address that is nearer than the MCP server, follows no redirect, keeps no connection, and takes no answer that is large, packed or slow.
 * Rejects with `SERVER_UNREACHABLE` or `SERVER_INCOMPATIBLE`.
 */
export function createAuthFetch(options: AuthFetchOptions): FetchLike {
  return async (address, init = {}) => {
    const url = new URL(address);
    assertAllowed(url, options);
    if (options.way) await assertFarEnough(url, options);
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const signals = [timeout, ...[options.signal, init.signal].filter((signal) => signal instanceof AbortSignal)];
    const headers = { ...Object.fromEntries(new Headers(init.headers)), "accept-encoding": "identity" };
    const body = init.body === undefined || init.body === null ? undefined : Buffer.from(await new Response(init.body).text());
    const start = {
      method: init.method ?? "GET",
      headers: { ...headers, ...(body && { "content-length": String(body.length) }) },
      signal: AbortSignal.any(signals),
    };
    try {
      return await exchange((options.way ?? plainWay(options.reach)).open(url, start), body);
    } catch (cause) {
      throw toError(cause, url, options, timeout.aborted);
    }
  };
}

function assertAllowed(url: URL, { server, reach }: AuthFetchOptions): void {
  const refuse = (why: string): BelljarError =>
    new BelljarError("SERVER_INCOMPATIBLE", `The login of "${server}" leads to ${url.origin}, ${why}`);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackUrl(url) && reach === "loopback"))
    throw refuse("which has no TLS: its operator must name an https: address");
  if (url.username !== "" || url.password !== "") throw refuse("with a password in the address");
  const host = bareHost(url);
  if (isIP(host) && !mayName(reach, host)) throw refuse(TOO_NEAR);
}

/** The way connects to an address that the policy allows. Here a name is looked at only to find that it leads nearer than the server is. */
async function assertFarEnough(url: URL, { server, reach }: AuthFetchOptions): Promise<void> {
  const found = await reachOfHost(url).catch(() => undefined);
  if (found === undefined || isWithin(reach, found)) return;
  throw new BelljarError("SERVER_INCOMPATIBLE", `The login of "${server}" leads to ${url.origin}, ${TOO_NEAR}`);
}

function plainWay(reach: Reach): HttpWay {
  const way = { agent: false, lookup: lookupWithin(reach) };
  return { open: (url, start) => (url.protocol === "https:" ? requestHttps : requestHttp)(url, { ...start, ...way }) };
}

const TOO_NEAR = "which is nearer to this machine than the server itself: such an address is not asked";

class TooNear extends Error {}
class BadAnswer extends Error {}

/** Gives only addresses that the server may name. The connection goes to one of them, so the name cannot change in between. */
function lookupWithin(reach: Reach): LookupFunction {
  return (host, asked, done) => {
    const all: LookupAllOptions = { ...asked, all: true };
    lookup(host, all, (error, found: LookupAddress[]) => {
      const [first, ...more] = error ? [] : found.filter(({ address }) => mayName(reach, address));
      if (!first) return done(error ?? new TooNear(host), "", 4);
      if (asked.all === true) done(null, [first, ...more]);
      else done(null, first.address, first.family);
    });
  };
}

async function exchange(request: ClientRequest, body: Buffer | undefined): Promise<Response> {
  const answer = await answerOf(request, body);
  try {
    const { statusCode: status = 0 } = answer;
    const encoding = answer.headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") throw new BadAnswer("it is packed");
    const content = await readAnswer(answer);
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? content : null, { status, headers: headersOf(answer) });
  } finally {
    answer.destroy();
  }
}

function answerOf(request: ClientRequest, body: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
    request.end(body);
  });
}

async function readAnswer(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new BadAnswer(`it has over ${ANSWER_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  return headers;
}

/** The message names the origin alone: a path and a query may hold keys. */
function toError(cause: unknown, { origin }: URL, { server, signal }: AuthFetchOptions, isLate: boolean): BelljarError {
  if (signal?.aborted) return new BelljarError("CANCELLED", `The login of "${server}" was cancelled`, { cause });
  if (cause instanceof BelljarError) return cause;
  const about = `The login of "${server}" asked ${origin}`;
  if (cause instanceof TooNear) return new BelljarError("SERVER_INCOMPATIBLE", `The login of "${server}" leads to ${origin}, ${TOO_NEAR}`);
  if (cause instanceof BadAnswer) return new BelljarError("SERVER_INCOMPATIBLE", `${about}, whose answer was not read: ${cause.message}`);
  if (cause instanceof RangeError || cause instanceof TypeError)
    return new BelljarError("SERVER_INCOMPATIBLE", `${about}, whose answer is no answer of HTTP`, { cause });
  const why = isLate ? `which did not answer within ${TIMEOUT_MS / 1000} s` : `which cannot be reached`;
  return new BelljarError("SERVER_UNREACHABLE", `${about}, ${why}: try again later`, { cause });
}
