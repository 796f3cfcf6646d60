import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { BelljarError } from "../errors.ts";
import { GUEST_PROTOCOL } from "./guest-upgrade.ts";
import { parseFailure } from "./server-answers.ts";

export interface ServerAddress {
  readonly url: string;
  readonly token?: string;
  /** How long the server may take for any answer. Default: longer than an honest one needs for that request. */
  readonly answerMs?: number;
}

export interface ServerRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the server's address, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** Aborts the exchange; what `read` left open lives on. */
  readonly signal?: AbortSignal;
}

/** A look waits at most for the silent guests that the server asks. */
const LOOK_MS = 60_000;
/** The first sandbox of a home waits until its template is made. */
const WORK_MS = 600_000;
const ANSWER_MAX_BYTES = 16 * 1024 * 1024;

/** The body of a successful answer. Rejects with the server's own error, `SERVER_UNREACHABLE` or `CANCELLED`. */
export function askServer(address: ServerAddress, request: ServerRequest): Promise<string> {
  return exchange(address, request, readBody);
}

/** Sends a request and reads a successful answer with `read`. Rejects as {@link askServer}. */
export function exchange<Result>(
  address: ServerAddress,
  ask: ServerRequest,
  read: (response: IncomingMessage) => Promise<Result>,
): Promise<Result> {
  const text = ask.method !== "GET" && ask.method !== "DELETE" ? JSON.stringify(ask.body ?? {}) : undefined;
  const headers: Record<string, string> =
    text === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) };
  const request = openRequest(address, ask.path, { method: ask.method, headers });
  return guarded(address, { request, signal: ask.signal, answerMs: ask.method === "GET" ? LOOK_MS : WORK_MS }, async () => {
    const { response } = await answered(request, text);
    await assertSuccess(response);
    return read(response);
  });
}

/** One raw stream to a sandbox's guest; the caller destroys it. */
export function openGuestStream(address: ServerAddress, id: string, signal: AbortSignal): Promise<Duplex> {
  const headers = { connection: "Upgrade", upgrade: GUEST_PROTOCOL };
  const request = openRequest(address, `/v1/sandboxes/${encodeURIComponent(id)}/guest`, { headers, agent: false });
  return guarded(address, { request, signal, answerMs: LOOK_MS }, async () => {
    const { response, stream } = await answered(request);
    if (stream) return stream;
    await assertSuccess(response);
    throw new BelljarError(
      "SERVER_INCOMPATIBLE",
      "The server does not serve guests; check that BELLJAR_URL names a Belljar of this version",
    );
  });
}

interface RequestOptions {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent?: false;
}

function openRequest({ url, token }: ServerAddress, path: string, options: RequestOptions): ClientRequest {
  const target = new URL(url.replace(/(?<!\/)\/+$/, "") + path);
  const open = target.protocol === "https:" ? requestHttps : requestHttp;
  return open(target, { ...options, headers: { ...options.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) } });
}

interface Guarded {
  readonly request: ClientRequest;
  readonly signal: AbortSignal | undefined;
  readonly answerMs: number;
}

/** Ends the request when the signal aborts, the server takes too long or `work` fails, and names the failure. */
async function guarded<Result>(
  address: ServerAddress,
  { request, signal, answerMs }: Guarded,
  work: () => Promise<Result>,
): Promise<Result> {
  const abort = (): void => void request.destroy();
  const late = AbortSignal.timeout(address.answerMs ?? answerMs);
  late.addEventListener("abort", abort, { once: true });
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await work();
  } catch (cause) {
    request.destroy();
    if (signal?.aborted) throw new BelljarError("CANCELLED", "The request was cancelled", { cause: signal.reason });
    if (cause instanceof BelljarError) throw cause;
    throw unreachable(address, late.aborted, cause);
  } finally {
    late.removeEventListener("abort", abort);
    signal?.removeEventListener("abort", abort);
  }
}

function unreachable({ url }: ServerAddress, isLate: boolean, cause: unknown): BelljarError {
  const message = isLate
    ? `The server at ${url} took too long to answer; what was asked of it may still be done. Try again, or start it anew`
    : `No Belljar answers at ${url}; start one with belljar serve, or unset BELLJAR_URL`;
  return new BelljarError("SERVER_UNREACHABLE", message, { cause });
}

interface Answer {
  readonly response: IncomingMessage;
  /** Set when the server switched to the guest protocol. */
  readonly stream?: Duplex;
}

function answered(request: ClientRequest, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.once("response", (response) => resolve({ response }));
    request.once("upgrade", (response, stream, head) => {
      if (head.length > 0) stream.unshift(head);
      resolve({ response, stream });
    });
    request.on("error", reject);
    request.once("close", () => reject(new Error("The connection was closed")));
    request.end(body);
  });
}

async function assertSuccess(response: IncomingMessage): Promise<void> {
  const status = response.statusCode ?? 500;
  if (status >= 400) throw parseFailure(status, await readBody(response));
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new BelljarError("SERVER_INCOMPATIBLE", "The server's answer is larger than 16 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
