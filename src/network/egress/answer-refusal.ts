import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { STATUS_CODES } from "node:http";
import { formatAnswer } from "../http/raw-answer.ts";
import type { Refusal } from "./refusal.ts";

const LINGER_MS = 2_000;

/** Tells a client why, or cuts the answer off when it has begun. */
export function answerRefusal(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = bodyOf(refusal);
  response.shouldKeepAlive &&= response.req.complete;
  response.writeHead(refusal.status, phraseOf(refusal), { ...headersOf(refusal), "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

/** The same on a connection that no HTTP server holds; it is closed soon, whether the client reads or not. */
export function refuseStream(stream: Duplex, refusal: Refusal): void {
  const headers = Object.entries(headersOf(refusal)).flat();
  endSoon(stream, formatAnswer({ status: refusal.status, phrase: phraseOf(refusal), headers }, bodyOf(refusal)));
}

/** Writes the last bytes and closes, at the latest after a moment. */
export function endSoon(stream: Duplex, bytes?: string | Uint8Array): void {
  if (stream.destroyed) return;
  const timer = setTimeout(() => stream.destroy(), LINGER_MS);
  stream.once("close", () => clearTimeout(timer));
  stream.once("end", () => stream.destroy());
  stream.on("error", () => {});
  if (bytes === undefined) stream.end();
  else stream.end(bytes);
  stream.resume();
}

/** ASCII: hosts stand in it in canonical form alone. */
function phraseOf({ status, brief }: Refusal): string {
  return `${STATUS_CODES[status] ?? ""} (Belljar: ${brief})`.trim();
}

function headersOf(refusal: Refusal): Record<string, string> {
  return { "content-type": "text/plain; charset=utf-8", "x-belljar-error": refusal.reason };
}

function bodyOf(refusal: Refusal): string {
  return `Belljar: ${refusal.text}\n`;
}
