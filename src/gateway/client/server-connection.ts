import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { GUEST_PROTOCOL } from "../guest-upgrade.ts";
import { parseFailure } from "./server-answers.ts";

export interface ServerAddress {
  readonly url: string;
  readonly token?: string;
}

export interface ServerRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the server's address, with its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

const ANSWER_MAX_BYTES = 16 * 1024 * 1024;

/** The body of a successful answer. Rejects with the server's own error, `SERVER_UNREACHABLE` or `CANCELLED`. */
export async function askServer(address: ServerAddress, { method, path, body, signal }: ServerRequest): Promise<string> {
  const text = method === "POST" ? JSON.stringify(body ?? {}) : undefined;
  const headers: Record<string, string | number> = text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  const request = openRequest(address, { path, options: { method, headers, signal } });
  request.end(text);
  const { response } = await answered(address, request, signal);
  const answer = await readAnswer(address, response, signal);
  if ((response.statusCode ?? 500) >= 400) throw parseFailure(response.statusCode ?? 500, answer);
  return answer;
}

/** One raw stream to a sandbox's guest; the caller destroys it. Aborting `signal` afterwards does not close it. */
export async function openGuestStream(address: ServerAddress, id: string, signal: AbortSignal): Promise<Duplex> {
  const headers = { connection: "Upgrade", upgrade: GUEST_PROTOCOL };
  const request = openRequest(address, { path: `/v1/sandboxes/${encodeURIComponent(id)}/guest`, options: { headers, agent: false } });
  const abort = (): void => void request.destroy(cancelled(signal));
  signal.addEventListener("abort", abort, { once: true });
  try {
    if (signal.aborted) abort();
    request.end();
    const { response, stream } = await answered(address, request, signal);
    if (stream) return stream;
    throw parseFailure(response.statusCode ?? 500, await readAnswer(address, response, signal));
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface Opening {
  readonly path: string;
  readonly options: { readonly method?: string; readonly headers: Record<string, string | number>; readonly signal?: AbortSignal; readonly agent?: false };
}

function openRequest({ url, token }: ServerAddress, { path, options }: Opening): ClientRequest {
  const target = new URL(url.replace(/\/+$/, "") + path);
  const open = target.protocol === "https:" ? requestHttps : requestHttp;
  const headers = { ...options.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  return open(target, { ...options, headers });
}

interface Answer {
  readonly response: IncomingMessage;
  /** Set when the server switched to the guest protocol. */
  readonly stream?: Duplex;
}

function answered(address: ServerAddress, request: ClientRequest, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.once("response", (response) => resolve({ response }));
    request.once("upgrade", (response, stream, head) => {
      if (head.length > 0) stream.unshift(head);
      resolve({ response, stream });
    });
    request.once("error", (cause) => reject(toFailure(address, cause, signal)));
  });
}

async function readAnswer(address: ServerAddress, response: IncomingMessage, signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > ANSWER_MAX_BYTES) throw new BelljarError("SERVER_INCOMPATIBLE", "The server's answer is larger than 16 MiB");
      chunks.push(chunk);
    }
  } catch (cause) {
    throw toFailure(address, cause, signal);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function toFailure({ url }: ServerAddress, cause: unknown, signal?: AbortSignal): BelljarError {
  if (cause instanceof BelljarError) return cause;
  if (signal?.aborted) return cancelled(signal);
  return new BelljarError("SERVER_UNREACHABLE", `No Belljar answers at ${url}; start one with belljar serve, or unset BELLJAR_URL`, { cause });
}

function cancelled(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The request was cancelled", { cause: signal.reason });
}
