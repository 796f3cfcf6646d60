import type { Duplex } from "node:stream";
import { toCanonicalHost, toIpv4 } from "../host-name.ts";
import { endSoon } from "../http/end-soon.ts";
import type { Parsed } from "./read-head.ts";
import { readHead } from "./read-head.ts";
import { type Place, Refusal } from "./refusal.ts";
import type { TunnelAnswer } from "./tunnel.ts";

const VERSION = 5;
const CONNECT = 1;
const GREETING_MAX = 2 + 255;
const REQUEST_MAX = 4 + 1 + 255 + 2;
const COMMAND_NOT_SUPPORTED = 7;
const ADDRESS_NOT_SUPPORTED = 8;
const NO_METHOD = 0xff;

/** Reads a SOCKS5 CONNECT without authentication. Returns its target, or undefined if the client was answered and the stream ended. */
export async function readSocksRequest(stream: Duplex, timeoutMs: number): Promise<Place | Refusal | undefined> {
  const methods = await readHead(stream, parseGreeting, { maxBytes: GREETING_MAX, timeoutMs });
  if (!methods?.includes(0)) return finish(stream, methods && Buffer.from([VERSION, NO_METHOD]));
  stream.write(Buffer.from([VERSION, 0]));
  const request = await readHead(stream, parseRequest, { maxBytes: REQUEST_MAX, timeoutMs });
  if (!request) return finish(stream);
  if (typeof request === "number") return finish(stream, reply(request));
  const host = toCanonicalHost(request.host);
  if (host === undefined || request.port === 0) return new Refusal("bad-request", "The SOCKS request names no valid host and port.");
  return { host, port: request.port };
}

export const SOCKS_ANSWER: TunnelAnswer = {
  accept: (stream) => void stream.write(reply(0)),
  refuse: (stream, refusal) => endSoon(stream, reply(refusal.socksReply)),
};

function finish(stream: Duplex, bytes?: Buffer): undefined {
  endSoon(stream, bytes);
}

function reply(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}

function parseGreeting(bytes: Buffer): Parsed<readonly number[]> | undefined {
  if (bytes[0] !== VERSION) return { value: [], used: bytes.length };
  const count = bytes[1];
  if (count === undefined || bytes.length < 2 + count) return undefined;
  return { value: [...bytes.subarray(2, 2 + count)], used: 2 + count };
}

/** Returns the target, or the number of the reply that refuses the request. */
function parseRequest(bytes: Buffer): Parsed<Place | number> | undefined {
  if (bytes.length < 5) return undefined;
  if (bytes[0] !== VERSION || bytes[1] !== CONNECT) return { value: COMMAND_NOT_SUPPORTED, used: bytes.length };
  const kind = bytes[3];
  if (kind !== 1 && kind !== 3 && kind !== 4) return { value: ADDRESS_NOT_SUPPORTED, used: bytes.length };
  const start = kind === 3 ? 5 : 4;
  const length = kind === 3 ? (bytes[4] ?? 0) : kind === 1 ? 4 : 16;
  const end = start + length;
  if (bytes.length < end + 2) return undefined;
  return { value: { host: toHost(kind, bytes.subarray(start, end)), port: bytes.readUInt16BE(end) }, used: end + 2 };
}

function toHost(kind: 1 | 3 | 4, bytes: Buffer): string {
  if (kind === 3) return bytes.toString("latin1");
  if (kind === 1) return toIpv4(bytes.readUInt16BE(0), bytes.readUInt16BE(2));
  return Array.from({ length: 8 }, (_value, index) => bytes.readUInt16BE(index * 2).toString(16)).join(":");
}
