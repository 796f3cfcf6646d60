import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, isIPv4, type Socket } from "node:net";

/** What a zone says to one question: records of the asked name unless they say whose. */
export interface DnsRecord {
  readonly owner?: string;
  readonly type: "A" | "AAAA" | "CNAME";
  readonly value: string;
}

export interface HostileDns extends AsyncDisposable {
  /** `address:port`, over UDP and TCP. */
  readonly server: string;
  readonly questions: readonly string[];
}

export type Zone = (question: {
  readonly name: string;
  readonly type: "A" | "AAAA";
  readonly isTcp: boolean;
  readonly count: number;
}) => readonly DnsRecord[];

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const UDP_MAX = 512;

/** A name server that answers as its zone likes, with TTL 0. What is too long for UDP is cut, so that TCP is asked. */
export async function openHostileDns(zone: Zone): Promise<HostileDns> {
  const questions: string[] = [];
  const answer = (query: Buffer, isTcp: boolean): Buffer => {
    const { name, type, end } = readQuestion(query);
    questions.push(`${type} ${name} ${isTcp ? "tcp" : "udp"}`);
    const count = questions.length;
    return encode(query.subarray(0, end), zone({ name, type, isTcp, count }));
  };
  const udp = createSocket("udp4", (query, from) => {
    const whole = answer(query, false);
    const cut = Buffer.from(whole.subarray(0, UDP_MAX));
    if (whole.length > UDP_MAX) cut.writeUInt16BE(cut.readUInt16BE(2) | 0x0200, 2);
    udp.send(cut, from.port, from.address);
  });
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    let bytes: Buffer = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length < 2 || bytes.length < 2 + bytes.readUInt16BE(0)) return;
      const said = answer(bytes.subarray(2), true).subarray(0, 65_535);
      socket.write(Buffer.concat([Buffer.of(said.length >> 8, said.length & 255), said]));
    });
  });
  tcp.listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  return {
    server: `127.0.0.1:${port}`,
    questions,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      udp.close();
      tcp.close();
      await once(tcp, "close");
    },
  };
}

function readQuestion(query: Buffer): { readonly name: string; readonly type: "A" | "AAAA"; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1) === TYPES.AAAA ? "AAAA" : "A", end: at + 5 };
}

function encode(question: Buffer, records: readonly DnsRecord[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...records.map(encodeRecord)]);
}

function encodeRecord({ owner, type, value }: DnsRecord): Buffer {
  const data = type === "CNAME" ? encodeName(value) : isIPv4(value) ? Buffer.from(value.split(".").map(Number)) : Buffer.from(value, "hex");
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(TYPES[type], 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner === undefined ? Buffer.of(0xc0, 12) : encodeName(owner), fixed, data]);
}

function encodeName(name: string): Buffer {
  return Buffer.concat([...name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])), Buffer.of(0)]);
}
