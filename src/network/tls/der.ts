/** The part of DER that is needed to write an X.509 certificate. Nothing here parses DER; OpenSSL does that. */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => der(TAG.set, ...items);
export const octets = (bytes: Uint8Array): Buffer => der(TAG.octetString, bytes);
export const utf8 = (text: string): Buffer => der(TAG.utf8String, Buffer.from(text));
export const isTrue = (): Buffer => der(TAG.boolean, Buffer.from([0xff]));

/** A constructed `[number]` around its items. */
export const explicit = (number: number, ...items: readonly Uint8Array[]): Buffer => der(0xa0 | number, ...items);
/** `[number]` instead of the type's own tag. */
export const implicit = (number: number, bytes: Uint8Array): Buffer => der(0x80 | number, bytes);

export function bits(bytes: Uint8Array, unused = 0): Buffer {
  return der(TAG.bitString, Buffer.from([unused]), bytes);
}

/** A non-negative integer, from its big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const shortest = start === -1 ? Buffer.from([0]) : bytes.subarray(start);
  const isNegative = ((shortest[0] ?? 0) & 0x80) !== 0;
  return der(TAG.integer, ...(isNegative ? [Buffer.from([0])] : []), shortest);
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(toBase128)]));
}

/** RFC 5280: the year has two digits until 2049, and four digits later. */
export function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return date.getUTCFullYear() < 2050 ? der(TAG.utcTime, Buffer.from(text.slice(2))) : der(TAG.generalizedTime, Buffer.from(text));
}

function toBase128(number: number): readonly number[] {
  const digits = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}
