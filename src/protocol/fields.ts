import { BelljarError } from "../errors.ts";
import { FIELDS_MAX_BYTES, TAG, type TagName } from "./wire.ts";

type TagOfWidth<W extends number> = { [K in TagName]: (typeof TAG)[K]["width"] extends W ? K : never }[TagName];
export type TextTag = TagOfWidth<0>;
export type NumberTag = TagOfWidth<1 | 2 | 4>;
export type WideTag = TagOfWidth<8>;

/** One field to send; `undefined` leaves it out. */
export type Field =
  | readonly [TextTag, string | Uint8Array | undefined]
  | readonly [NumberTag, number | undefined]
  | readonly [WideTag, number | bigint | undefined];

const FIELD_HEADER_BYTES = 5;
const NUL = 0;
/** Tags whose values are raw bytes or nested fields. All other values of width 0 are text. */
const BINARY: ReadonlySet<TagName> = new Set(["VALUE", "SETUP", "CGROUP", "ADDRESS", "BEFORE", "AFTER", "ATTRIBUTES", "ATTRIBUTE"]);

/** Encodes fields behind `reserve` free bytes, in one allocation. Throws `ARGUMENTS_INVALID` for values that do not fit the wire. */
export function encodeFields(fields: readonly Field[], reserve = 0): Buffer {
  let size = 0;
  for (const field of fields) size += encodedLength(field);
  if (size > FIELDS_MAX_BYTES) {
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `The request takes ${size} bytes; at most ${FIELDS_MAX_BYTES} fit. Pass less through arguments and environment`,
    );
  }
  const buffer = Buffer.allocUnsafe(reserve + size);
  let at = reserve;
  for (const field of fields) at = writeField(buffer, at, field);
  return buffer;
}

function encodedLength([tag, value]: Field): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return FIELD_HEADER_BYTES + Buffer.byteLength(value);
  return FIELD_HEADER_BYTES + (typeof value === "object" ? value.length : TAG[tag].width);
}

function writeField(buffer: Buffer, at: number, [tag, value]: Field): number {
  if (value === undefined) return at;
  const start = at + FIELD_HEADER_BYTES;
  const end = writeValue(buffer, start, tag, value);
  buffer[at] = TAG[tag].id;
  buffer.writeUInt32BE(end - start, at + 1);
  return end;
}

function writeValue(buffer: Buffer, at: number, tag: TagName, value: string | Uint8Array | number | bigint): number {
  if (typeof value === "number" || typeof value === "bigint") return writeNumber(buffer, at, tag, value);
  let end: number;
  if (typeof value === "string") end = at + buffer.write(value, at);
  else {
    buffer.set(value, at);
    end = at + value.length;
  }
  if (!BINARY.has(tag) && holdsNul(buffer.subarray(at, end))) {
    const code = tag === "PATH" || tag === "TARGET" || tag === "CWD" ? "PATH_INVALID" : "ARGUMENTS_INVALID";
    throw new BelljarError(code, `${tag} holds a NUL byte: remove it, for no path, argument or variable can hold one`);
  }
  return end;
}

function writeNumber(buffer: Buffer, at: number, tag: TagName, value: number | bigint): number {
  const { width } = TAG[tag];
  const limit = 2n ** BigInt(width * 8);
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw outOfRange(tag, value);
  if (value < 0 || BigInt(value) >= limit) throw outOfRange(tag, value);
  if (width === 8) return buffer.writeBigUInt64BE(BigInt(value), at);
  return buffer.writeUIntBE(Number(value), at, width);
}

function outOfRange(tag: TagName, value: number | bigint): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `${tag} is ${value}; expected a whole number from 0 that fits into ${TAG[tag].width} bytes`);
}

function holdsNul(bytes: Buffer): boolean {
  return bytes.includes(NUL);
}

const TAG_NAMES: readonly (TagName | undefined)[] = tagNames();

function tagNames(): (TagName | undefined)[] {
  const names: (TagName | undefined)[] = [];
  for (const name of Object.keys(TAG) as TagName[]) names[TAG[name].id] = name;
  return names;
}

/** Decoded fields. Values are views of the bytes that were parsed. */
export class Fields {
  readonly #values = new Map<TagName, Buffer[]>();

  /** Throws `GUEST_PROTOCOL` for an unknown field, a wrong width, a repeated field, or a field that is cut off. */
  static parse(bytes: Buffer): Fields {
    const fields = new Fields();
    let at = 0;
    while (at < bytes.length) {
      const end = fieldEnd(bytes, at);
      fields.#add(bytes[at] ?? 0, bytes.subarray(at + FIELD_HEADER_BYTES, end));
      at = end;
    }
    return fields;
  }

  #add(id: number, value: Buffer): void {
    const tag = TAG_NAMES[id];
    if (!tag) throw malformed(`unknown field ${id}`);
    const { width } = TAG[tag];
    if (width === 0 ? !BINARY.has(tag) && holdsNul(value) : value.length !== width) throw malformed(`${tag} is malformed`);
    const earlier = this.#values.get(tag);
    if (!earlier) this.#values.set(tag, [value]);
    else if ("many" in TAG[tag]) earlier.push(value);
    else throw malformed(`${tag} stands twice`);
  }

  bytes(tag: TextTag): Buffer | undefined {
    return this.#values.get(tag)?.[0];
  }

  /** Decodes UTF-8. Invalid bytes are replaced. */
  text(tag: TextTag): string | undefined {
    return this.bytes(tag)?.toString();
  }

  all(tag: "ARG" | "ENV" | "ADDRESS" | "ATTRIBUTE"): readonly Buffer[] {
    return this.#values.get(tag) ?? [];
  }

  bigint(tag: WideTag): bigint | undefined {
    return this.#values.get(tag)?.[0]?.readBigUInt64BE();
  }

  number(tag: NumberTag | WideTag): number | undefined {
    const value = this.#values.get(tag)?.[0];
    if (!value) return undefined;
    const number = value.length === 8 ? Number(value.readBigUInt64BE()) : value.readUIntBE(0, value.length);
    if (!Number.isSafeInteger(number)) throw malformed(`${tag} is too large`);
    return number;
  }

  /** Throws `GUEST_PROTOCOL` if the field is missing. */
  needNumber(tag: NumberTag | WideTag): number {
    return this.number(tag) ?? missing(tag);
  }

  needBytes(tag: TextTag): Buffer {
    return this.bytes(tag) ?? missing(tag);
  }
}

function fieldEnd(bytes: Buffer, at: number): number {
  if (bytes.length - at < FIELD_HEADER_BYTES) throw malformed("a field is cut off");
  const end = at + FIELD_HEADER_BYTES + bytes.readUInt32BE(at + 1);
  if (end > bytes.length) throw malformed("a field runs past the end");
  return end;
}

function missing(tag: TagName): never {
  throw malformed(`${tag} is missing`);
}

/** The error for a broken protocol: a bug, or a guest that lies. */
export function malformed(what: string): BelljarError {
  return new BelljarError("GUEST_PROTOCOL", `The other side of the guest protocol sent malformed data: ${what}. Create a new sandbox`);
}
