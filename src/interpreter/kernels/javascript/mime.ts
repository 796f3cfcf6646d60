import { Buffer } from "node:buffer";
import { inspect } from "node:util";
import { isUint8Array } from "node:util/types";
import type { MimeData } from "./channel.ts";
import { isPlainData } from "./plain-data.ts";

const TEXT_CHARACTERS = 1024 * 1024;
const IMAGE_BYTES = 5 * 1024 * 1024;
const BINARY = /^(?:image\/(?!svg)|audio\/|video\/|application\/(?:pdf|octet-stream)$)/;
const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)$/;
const MIME = /^[\w.-]+\/[\w.+-]+$/;
const INSPECT = { depth: 4, maxArrayLength: 200, maxStringLength: 64 * 1024, breakLength: 120 } as const;

const SIGNATURES = [
  { mime: "image/png", bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { mime: "image/jpeg", bytes: [0xff, 0xd8, 0xff] },
] as const;

/** A value as a text, as data where it is plain, as a picture where it is the bytes of one. It may run the value's own code. */
export function toMime(value: unknown): MimeData {
  const image = toImage(value);
  const text = { "text/plain": cut(inspect(value, INSPECT)) };
  if (image) return { ...text, ...image };
  return isPlainData(value) ? { ...text, "application/json": value } : text;
}

/** What `display` was given: an object by types of media, or any other value. */
export function toDisplay(value: unknown): MimeData {
  if (!isMimeObject(value)) return toMime(value);
  return Object.fromEntries(Object.entries(value).map(([mime, content]) => [mime, toContent(mime, content)]));
}

export function cut(text: string): string {
  if (text.length <= TEXT_CHARACTERS) return text;
  return `${text.slice(0, TEXT_CHARACTERS)}\n... (${text.length - TEXT_CHARACTERS} more characters)`;
}

function isMimeObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || isUint8Array(value)) return false;
  const names = Object.keys(value);
  return names.length > 0 && names.length <= 32 && names.every((name) => MIME.test(name));
}

function toContent(mime: string, content: unknown): unknown {
  if (JSON_TYPE.test(mime)) return content;
  if (isUint8Array(content)) return Buffer.from(content).toString(BINARY.test(mime) ? "base64" : "utf8");
  return String(content);
}

function toImage(value: unknown): MimeData | undefined {
  if (!isUint8Array(value) || value.length > IMAGE_BYTES) return undefined;
  const found = SIGNATURES.find(({ bytes }) => bytes.every((byte, index) => value[index] === byte));
  return found && { [found.mime]: Buffer.from(value).toString("base64") };
}
