export interface DnsQuestion {
  readonly id: number;
  /** In lower case, with dots between the labels. */
  readonly name: string;
  readonly type: number;
  readonly isInternet: boolean;
  /** The question's bytes, which the answer repeats. */
  readonly section: Buffer;
  readonly recursionDesired: boolean;
}

export const DNS_TYPE = { A: 1, AAAA: 28 } as const;
export const DNS_CODE = { NO_ERROR: 0, FORMAT: 1, SERVER_FAILURE: 2, NAME_UNKNOWN: 3, NOT_IMPLEMENTED: 4 } as const;

const HEADER_BYTES = 12;
/** RFC 1035, section 3.1: the limits of a label, and of a whole encoded name. */
const LABEL_MAX = 63;
const NAME_MAX = 255;

/** Returns the only question of a standard query, or undefined for any other message. It ignores the bytes after the question. */
export function parseQuestion(message: Buffer): DnsQuestion | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & 0xf800) !== 0 || message.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  while (at < message.length && message[at] !== 0) {
    const length = message[at] ?? 0;
    const next = at + 1 + length;
    if (length > LABEL_MAX || next >= message.length || next + 1 - HEADER_BYTES > NAME_MAX) return undefined;
    labels.push(message.toString("latin1", at + 1, next).toLowerCase());
    at = next;
  }
  const end = at + 5;
  if (end > message.length) return undefined;
  return {
    id: message.readUInt16BE(0),
    name: labels.join("."),
    type: message.readUInt16BE(at + 1),
    isInternet: message.readUInt16BE(at + 3) === 1,
    section: message.subarray(HEADER_BYTES, end),
    recursionDesired: (flags & 0x0100) !== 0,
  };
}

export interface DnsAnswer {
  readonly code: number;
  readonly address?: string;
  readonly ttlSeconds?: number;
}

export function encodeAnswer(question: DnsQuestion, { code, address, ttlSeconds = 0 }: DnsAnswer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(question.id, 0);
  header.writeUInt16BE(0x8080 | (question.recursionDesired ? 0x0100 : 0) | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(address === undefined ? 0 : 1, 6);
  return Buffer.concat([header, question.section, address === undefined ? Buffer.alloc(0) : encodeRecord(address, ttlSeconds)]);
}

/** Encodes the name as a pointer to byte 12, the name in the question. */
function encodeRecord(address: string, ttlSeconds: number): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(DNS_TYPE.A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(ttlSeconds, 6);
  record.writeUInt16BE(4, 10);
  Buffer.from(address.split(".").map(Number)).copy(record, 12);
  return record;
}
