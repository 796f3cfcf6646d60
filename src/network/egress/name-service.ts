import type { Duplex } from "node:stream";
import { toCanonicalHost } from "../host-name.ts";
import { endSoon } from "../http/end-soon.ts";
import { DNS_CODE, DNS_TYPE, type DnsAnswer, type DnsQuestion, encodeAnswer, parseQuestion } from "./dns-message.ts";
import type { Gate } from "./gate.ts";
import type { NameAddresses } from "./name-addresses.ts";
import { readHead } from "./read-head.ts";
import { type Place, Refusal } from "./refusal.ts";

const MESSAGE_MAX = 2 + 4096;
const TTL_SECONDS = 60;
const DNS_PORT = 53;

/** Answers DNS queries over TCP on one connection, one after the other, until it ends or is idle. Owns the stream. */
export async function serveNames(stream: Duplex, gate: Gate, addresses: NameAddresses): Promise<void> {
  stream.on("error", () => stream.destroy());
  while (!stream.destroyed) {
    const message = await readHead(stream, parseFrame, { maxBytes: MESSAGE_MAX, timeoutMs: gate.limits.headMs });
    const question = message && parseQuestion(message);
    if (!question) return endSoon(stream);
    await gate.turn();
    const answer = encodeAnswer(question, await answerTo(question, gate, addresses));
    const length = Buffer.alloc(2);
    length.writeUInt16BE(answer.length);
    if (!stream.write(Buffer.concat([length, answer]))) await drained(stream);
  }
}

async function answerTo(question: DnsQuestion, gate: Gate, addresses: NameAddresses): Promise<DnsAnswer> {
  const host = toCanonicalHost(question.name);
  const ports = host === undefined ? [] : gate.ports(host);
  const port = ports[0];
  if (host === undefined || port === undefined) return refuse(question, gate, gate.noRule({ host: question.name, port: 443 }));
  if (question.type !== DNS_TYPE.A || !question.isInternet) return { code: DNS_CODE.NO_ERROR };
  const refusal = await findRefusal(gate, { host, ports });
  if (refusal) return refuse(question, gate, refusal);
  try {
    return { code: DNS_CODE.NO_ERROR, address: await addresses.addressOf(host, ports), ttlSeconds: TTL_SECONDS };
  } catch {
    return refuse(question, gate, new Refusal("internal", "No address could be given to the name."));
  }
}

/** Returns undefined if the name may be reached on at least one of its ports. */
async function findRefusal(
  gate: Gate,
  { host, ports }: { readonly host: string; readonly ports: readonly number[] },
): Promise<Refusal | undefined> {
  const results = await Promise.all(ports.map((port) => gate.resolve({ host, port } satisfies Place)));
  if (results.some((result) => !(result instanceof Refusal))) return undefined;
  return results.find((result): result is Refusal => result instanceof Refusal);
}

function refuse(question: DnsQuestion, gate: Gate, refusal: Refusal): DnsAnswer {
  gate.refuse({ via: "dns", place: { host: question.name, port: DNS_PORT } }, refusal);
  return { code: refusal.reason === "internal" ? DNS_CODE.SERVER_FAILURE : DNS_CODE.NAME_UNKNOWN };
}

function parseFrame(bytes: Buffer): { value: Buffer; used: number } | undefined {
  if (bytes.length < 2) return undefined;
  const end = 2 + bytes.readUInt16BE(0);
  return bytes.length < end ? undefined : { value: bytes.subarray(2, end), used: end };
}

function drained(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done).off("close", done);
      resolve();
    };
    stream.once("drain", done).once("close", done);
  });
}
