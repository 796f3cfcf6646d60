/** The first message of a TLS client, which is not encrypted. */
export interface ClientHello {
  /** The server name (SNI) as sent. Undefined if the hello has none. */
  readonly serverName?: string;
  /** True if it holds an encrypted hello (ECH), which hides the real server name. */
  readonly isEncrypted: boolean;
}

/** `partial`: more bytes are needed. `other`: not TLS, or not a message that a client may send first. */
export type HelloParse = { readonly kind: "hello"; readonly hello: ClientHello } | { readonly kind: "partial" | "other" };

export const HELLO_MAX_BYTES = 32_768;
const RECORD_HEADER = 5;
const HANDSHAKE_HEADER = 4;
const RECORD_MAX = 16_384;
const SERVER_NAME = 0;
const ENCRYPTED_HELLO = [0xfe0d, 0xffce];
const PARTIAL = { kind: "partial" } as const;
const OTHER = { kind: "other" } as const;

export function parseClientHello(bytes: Buffer): HelloParse {
  if (bytes.length > 0 && bytes[0] !== 22) return OTHER;
  if (bytes.length > 1 && bytes[1] !== 3) return OTHER;
  const joined = joinRecords(bytes);
  if (joined === undefined) return OTHER;
  if (joined.length > 0 && joined[0] !== 1) return OTHER;
  if (joined.length < HANDSHAKE_HEADER) return PARTIAL;
  const length = joined.readUIntBE(1, 3);
  if (length > HELLO_MAX_BYTES) return OTHER;
  if (joined.length < HANDSHAKE_HEADER + length) return PARTIAL;
  const hello = readHello(new Cursor(joined.subarray(HANDSHAKE_HEADER, HANDSHAKE_HEADER + length)));
  return hello ? { kind: "hello", hello } : OTHER;
}

/** Joins the handshake bytes of all records so far. Returns undefined for an invalid record. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at + RECORD_HEADER <= bytes.length;) {
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== 22 || bytes[at + 1] !== 3 || length === 0 || length > RECORD_MAX)
      return parts.length > 0 ? Buffer.concat(parts) : undefined;
    parts.push(bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length));
    at += RECORD_HEADER + length;
  }
  return Buffer.concat(parts);
}

function readHello(cursor: Cursor): ClientHello | undefined {
  cursor.take(2 + 32);
  cursor.vector(1);
  cursor.vector(2);
  cursor.vector(1);
  if (cursor.isBroken) return undefined;
  if (cursor.isDone) return { isEncrypted: false };
  const extensions = cursor.vector(2);
  return cursor.isDone && !cursor.isBroken ? readExtensions(extensions) : undefined;
}

function readExtensions(cursor: Cursor): ClientHello | undefined {
  const names: (string | undefined)[] = [];
  let isEncrypted = false;
  while (!cursor.isDone && !cursor.isBroken) {
    const type = cursor.number(2);
    const body = cursor.vector(2);
    if (type === SERVER_NAME) names.push(readServerName(body));
    if (ENCRYPTED_HELLO.includes(type)) isEncrypted = true;
  }
  if (cursor.isBroken || names.length > 1 || names.includes(undefined)) return undefined;
  return { isEncrypted, ...(names[0] !== undefined && { serverName: names[0] }) };
}

/** Accepts exactly one host name, as RFC 6066 requires. */
function readServerName(cursor: Cursor): string | undefined {
  const list = cursor.vector(2);
  const type = list.number(1);
  const name = list.vector(2).rest();
  const isWhole = cursor.isDone && list.isDone && !cursor.isBroken && !list.isBroken;
  return isWhole && type === 0 && name.length > 0 ? name.toString("latin1") : undefined;
}

/** Reads values within its bytes. Past their end it becomes broken, and returns empty values. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;
  #isBroken = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(count: number): Buffer {
    if (this.#isBroken || this.#at + count > this.#bytes.length) {
      this.#isBroken = true;
      return Buffer.alloc(0);
    }
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  number(width: number): number {
    const bytes = this.take(width);
    return bytes.length === width ? bytes.readUIntBE(0, width) : 0;
  }

  /** Reads a length of this width, and the bytes behind it. */
  vector(width: number): Cursor {
    return new Cursor(this.take(this.number(width)));
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at);
  }
}
