import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { STATUS_CODES } from "node:http";
import { endSoon } from "../http/end-soon.ts";
import { formatAnswer } from "../http/raw-answer.ts";
import type { Refusal } from "./refusal.ts";

/** Answers a request with the refusal. If the answer has already begun, closes the connection. */
export function answerRefusal(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = bodyOf(refusal);
  response.shouldKeepAlive &&= response.req.complete;
  response.writeHead(refusal.status, phraseOf(refusal), { ...headersOf(refusal), "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

/** Does the same on a connection without an HTTP server. The connection is closed soon, even if the client does not read. */
export function refuseStream(stream: Duplex, refusal: Refusal): void {
  const headers = Object.entries(headersOf(refusal)).flat();
  endSoon(stream, formatAnswer({ status: refusal.status, phrase: phraseOf(refusal), headers }, bodyOf(refusal)));
}

/** Always ASCII, because hosts in it are in canonical form. */
function phraseOf({ status, brief }: Refusal): string {
  return `${STATUS_CODES[status] ?? ""} (Belljar: ${brief})`.trim();
}

function headersOf(refusal: Refusal): Record<string, string> {
  return { "content-type": "text/plain; charset=utf-8", "x-belljar-error": refusal.reason };
}

function bodyOf(refusal: Refusal): string {
  return `Belljar: ${refusal.text}\n`;
}
