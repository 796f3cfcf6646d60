import { createParser } from "eventsource-parser";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import { parseJson } from "../../files/parse-json.ts";
import { printable } from "../../files/printable.ts";
import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import { firstText } from "../mcp-client/render-content.ts";

/** An endpoint, with its key. */
export interface Endpoint {
  /** Of the requests of a conversation. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Hidden in whatever the endpoint says. */
  readonly key: string | undefined;
  /** What a person sets to change the key. */
  readonly keyName: string;
  readonly silenceMs?: number;
}

const REPLY_MAX_BYTES = 16 * 1_048_576;
const ERROR_MAX_BYTES = 65_536;
const SAID_MAX = 500;
/** Models that think say nothing for long. */
const SILENCE_MS = 300_000;

/**
 * Posts a request, and gives the events of its answer, each an object of JSON. The bytes may be cut anywhere. Rejects as `Model.reply`, also
 * for an answer that is too large, or too long silent.
 */
export async function* modelEvents(endpoint: Endpoint, body: object, signal: AbortSignal): AsyncGenerator<JsonObject, void, undefined> {
  const answer = await ask(endpoint, body, signal);
  const type = answer.headers.get("content-type") ?? "";
  if (!answer.body || !type.trim().toLowerCase().startsWith("text/event-stream"))
    throw incompatible(endpoint, "answered with no stream of events");
  const found: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => found.push(data), maxBufferSize: REPLY_MAX_BYTES });
  const decoder = new TextDecoder();
  for await (const chunk of chunksOf(answer.body, REPLY_MAX_BYTES, endpoint, signal)) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    for (const data of found.splice(0)) {
      if (data === "[DONE]") return;
      const value = parseJson(data);
      if (!isRecord(value)) throw incompatible(endpoint, "sent an event that is no JSON");
      yield value;
    }
  }
}

/** The error for what an endpoint says in its answer, or in the middle of it. */
export function refusedBy({ url, key, keyName }: Endpoint, status: number | undefined, said: unknown): BelljarError {
  const record = isRecord(said) && isRecord(said["error"]) ? said["error"] : said;
  const text = isRecord(record) ? firstText(record["message"], record["type"]) : firstText(record);
  const hidden = key === undefined || key === "" ? text : text.replaceAll(key, "***");
  const about = `The model's endpoint ${url.origin}`;
  const words = hidden === "" ? "" : `: ${printable(hidden.slice(0, SAID_MAX))}`;
  if (status === 401 || status === 403) return new BelljarError("UNAUTHORIZED", `${about} does not take the key: set ${keyName}${words}`);
  if (status === 429) return new BelljarError("QUOTA_EXCEEDED", `${about} wants fewer requests, so ask again later${words}`);
  if (status !== undefined && status < 500) return new BelljarError("SERVER_REFUSED", `${about} refused the request (${status})${words}`);
  return new BelljarError("SERVER_UNREACHABLE", `${about} failed${status === undefined ? "" : ` (${status})`}, so ask again later${words}`);
}

export function incompatible({ url }: Endpoint, what: string): BelljarError {
  return new BelljarError("SERVER_INCOMPATIBLE", `The model's endpoint ${url.origin} ${what}: check its address`);
}

async function ask(endpoint: Endpoint, body: object, signal: AbortSignal): Promise<Response> {
  const { url, headers } = endpoint;
  const sent = { "content-type": "application/json", accept: "text/event-stream", ...headers };
  let answer: Response;
  try {
    const asked = fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body), signal, redirect: "error" });
    answer = await inTime(asked, endpoint, signal);
  } catch (cause) {
    if (cause instanceof BelljarError) throw cause;
    if (signal.aborted) throw cancelled(cause);
    throw new BelljarError("SERVER_UNREACHABLE", `The model's endpoint ${url.origin} cannot be reached: check its address`, { cause });
  }
  if (answer.ok) return answer;
  throw refusedBy(endpoint, answer.status, await readError(answer, endpoint, signal));
}

async function readError(answer: Response, endpoint: Endpoint, signal: AbortSignal): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  try {
    if (answer.body) for await (const chunk of chunksOf(answer.body, ERROR_MAX_BYTES, endpoint, signal)) chunks.push(chunk);
  } catch (cause) {
    if (signal.aborted) throw cause;
  }
  const text = Buffer.concat(chunks).toString("utf8");
  return parseJson(text) ?? text;
}

async function* chunksOf(
  body: NonNullable<Response["body"]>,
  maxBytes: number,
  endpoint: Endpoint,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), endpoint, signal);
      if (done) return;
      size += value.length;
      if (size > maxBytes) throw incompatible(endpoint, `sent over ${maxBytes} bytes`);
      yield value;
    }
  } catch (cause) {
    if (cause instanceof BelljarError) throw cause;
    if (signal.aborted) throw cancelled(cause);
    throw new BelljarError("SERVER_UNREACHABLE", `The model's endpoint ${endpoint.url.origin} ended in the middle of its answer`, {
      cause,
    });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function inTime<T>(work: Promise<T>, { url, silenceMs = SILENCE_MS }: Endpoint, signal: AbortSignal): Promise<T> {
  const found = await settleWithin(
    work.then((value) => ({ value })),
    { timeoutMs: silenceMs, signal },
  );
  if (found !== "late") return found.value;
  work.catch(() => undefined);
  if (signal.aborted) throw cancelled(signal.reason);
  throw new BelljarError("SERVER_UNREACHABLE", `The model's endpoint ${url.origin} said nothing for ${silenceMs} ms`);
}

function cancelled(cause: unknown): BelljarError {
  return new BelljarError("CANCELLED", "The reply was interrupted", { cause });
}
