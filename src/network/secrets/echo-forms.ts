import type { Replacement } from "./byte-replacer.ts";

/** A value that a request carried, and what the program inside wrote in its place. */
export interface FilledValue {
  readonly value: string;
  readonly placeholder: string;
}

/** Shorter encodings stand in too much that is no secret. */
const ENCODED_MIN = 8;

/** Every form in which servers are known to give back what they were sent, with the placeholder or stars in its place. */
export function echoForms({ value, placeholder }: FilledValue): readonly Replacement[] {
  const texts = new Set([value, ...jsonForms(value), ...percentForms(value), ...htmlForms(value)]);
  const encoded = new Set([...base64Forms(Buffer.from(value)), ...hexForms(Buffer.from(value))]);
  return [
    ...[...texts].map((text) => ({ find: Buffer.from(text), put: Buffer.from(placeholder) })),
    ...[...encoded].filter((text) => text.length >= ENCODED_MIN && !texts.has(text)).map(toStars),
  ];
}

/** The same finds with stars as long as what they hide, where a length may not change. */
export function withStars(replacements: readonly Replacement[]): readonly Replacement[] {
  return replacements.map(({ find }) => ({ find, put: Buffer.alloc(find.length, "*") }));
}

function toStars(text: string): Replacement {
  return { find: Buffer.from(text), put: Buffer.alloc(text.length, "*") };
}

function jsonForms(value: string): readonly string[] {
  const plain = JSON.stringify(value).slice(1, -1);
  const ascii = plain.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [plain, ascii, plain.replaceAll("/", "\\/")];
}

function percentForms(value: string): readonly string[] {
  const plain = encodeURIComponent(value);
  const strict = plain.replaceAll(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const forms = [plain, strict, encodeURI(value), strict.replaceAll("%20", "+"), strict.replaceAll("%7E", "~")];
  return [...forms, ...forms.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

function htmlForms(value: string): readonly string[] {
  const plain = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quoted = plain.replaceAll('"', "&quot;");
  return [plain, quoted, quoted.replaceAll("'", "&#39;"), quoted.replaceAll("'", "&#x27;"), quoted.replaceAll("'", "&#039;")];
}

/** At each of the three places of a triple: the characters that stand for bytes of the value alone. */
function base64Forms(value: Buffer): readonly string[] {
  const forms = [0, 1, 2].map((before) => {
    const bits = (before + value.length) * 8;
    const text = Buffer.concat([Buffer.alloc(before), value]).toString("base64");
    return text.slice(before === 0 ? 0 : before + 1, Math.floor(bits / 6));
  });
  return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

function hexForms(value: Buffer): readonly string[] {
  const hex = value.toString("hex");
  return [hex, hex.toUpperCase()];
}
