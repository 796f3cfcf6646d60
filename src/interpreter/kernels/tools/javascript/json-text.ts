import { Buffer } from "node:buffer";
import { isAnyArrayBuffer, isMap, isPromise, isSet } from "node:util/types";

const MAX_DEPTH = 200;
/** As they are now: the author's code may change them. */
const toJson = JSON.stringify.bind(JSON);
const { keys } = Object;
const { isArray } = Array;
const arrayPrototype = Array.prototype as { readonly toJSON?: unknown };
const objectPrototype = Object.prototype as { readonly toJSON?: unknown };
const isView = ArrayBuffer.isView.bind(ArrayBuffer);
const { isFinite } = Number;
const byteLength = Buffer.byteLength.bind(Buffer);

export interface JsonTextOptions {
  readonly maxBytes: number;
  /** Of each level. Absent: all on one line. */
  readonly indent?: string;
}

/** Why a value has no JSON text. The message begins with the place, such as `$.items[3]`. */
export class NotJson extends Error {
  override readonly name = "ResultError";
}

/**
 * The value as JSON, as `JSON.stringify` writes it, without its silent losses: what JSON cannot hold is a `NotJson`.
 * A field that is undefined is left out.
 */
export function toJsonText(value: unknown, options: JsonTextOptions): string {
  const text = new JsonText(options).write(value);
  if (byteLength(text) > options.maxBytes) throw tooLarge(options.maxBytes);
  return text;
}

class JsonText {
  readonly #maxBytes: number;
  readonly #indent: string;
  readonly #isWide: boolean;
  readonly #open: object[] = [];
  #depth = 0;
  #text = "";

  constructor({ maxBytes, indent }: JsonTextOptions) {
    this.#maxBytes = maxBytes;
    this.#isWide = indent !== undefined;
    this.#indent = indent ?? "";
  }

  write(value: unknown): string {
    this.#value(value, "$");
    return this.#text;
  }

  #value(given: unknown, place: string): void {
    const value = plainOf(given, place);
    if (typeof value === "object" && value !== null) return this.#container(value, place);
    if (typeof value === "string" && value.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    this.#add(toJson(value));
  }

  #container(value: object, place: string): void {
    for (let at = 0; at < this.#depth; at++) if (this.#open[at] === value) throw new NotJson(`${place} contains itself`);
    if (this.#depth === MAX_DEPTH) throw new NotJson(`${place} is nested more than ${MAX_DEPTH} levels deep`);
    this.#open[this.#depth++] = value;
    if (isArray(value)) this.#array(value, place);
    else this.#object(value as Record<string, unknown>, place);
    this.#depth--;
  }

  #array(value: readonly unknown[], place: string): void {
    this.#add("[");
    for (let at = 0; at < value.length; at++) {
      this.#next(at > 0);
      const inner = `${place}[${at}]`;
      this.#value(read(value, at, inner) ?? null, inner);
    }
    this.#close(value.length > 0, "]");
  }

  #object(value: Readonly<Record<string, unknown>>, place: string): void {
    this.#add("{");
    const names = keys(value);
    let written = 0;
    for (let at = 0; at < names.length; at++) {
      const name = names[at] ?? "";
      const inner = /^[A-Za-z_$][\w$]*$/.test(name) ? `${place}.${name}` : `${place}[${toJson(name)}]`;
      const field = read(value, name, inner);
      if (field === undefined) continue;
      this.#next(written++ > 0);
      this.#add(`${toJson(name)}:${this.#isWide ? " " : ""}`);
      this.#value(field, inner);
    }
    this.#close(written > 0, "}");
  }

  #next(isLater: boolean): void {
    this.#add(isLater ? "," : "");
    this.#newLine();
  }

  #close(hasInner: boolean, bracket: string): void {
    this.#depth--;
    if (hasInner) this.#newLine();
    this.#depth++;
    this.#add(bracket);
  }

  #newLine(): void {
    if (!this.#isWide) return;
    let line = "\n";
    for (let at = 0; at < this.#depth; at++) line += this.#indent;
    this.#add(line);
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
  }
}

/** A getter or a proxy is the author's code. */
function read(value: object, name: string | number, place: string): unknown {
  try {
    return (value as Readonly<Record<string | number, unknown>>)[name];
  } catch (error) {
    throw new NotJson(`${place} cannot be read`, { cause: error });
  }
}

/** The value that stands for another in JSON, such as a date's text. */
function plainOf(value: unknown, place: string): unknown {
  const problem = problemOf(value);
  if (problem) throw new NotJson(`${place} is ${problem}`);
  if (typeof value !== "object" || value === null) return value;
  const toValue = read(value, "toJSON", place);
  if (typeof toValue !== "function" || toValue === commonToJson(value)) return value;
  const plain: unknown = Reflect.apply(toValue, value, [""]) ?? null;
  const next = problemOf(plain);
  if (next) throw new NotJson(`${place} is ${next}`);
  return plain;
}

/** One that the code gave to all objects counts for none: the harness's own are among them. */
function commonToJson(value: object): unknown {
  return (isArray(value) ? arrayPrototype : objectPrototype).toJSON;
}

function problemOf(value: unknown): string | undefined {
  if (value === undefined) return "undefined, which JSON does not have";
  if (typeof value === "number") return isFinite(value) ? undefined : `${value}, which JSON does not have`;
  if (typeof value === "bigint") return "a BigInt, which JSON does not have: use Number() or String()";
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}, which JSON does not have`;
  if (typeof value !== "object" || value === null) return undefined;
  if (isPromise(value)) return "a promise that nobody awaited";
  if (isMap(value) || isSet(value)) return "a Map or Set: use Object.fromEntries() or an array";
  if (isView(value) || isAnyArrayBuffer(value)) return "bytes: return image(bytes, mimeType), or a text";
  return undefined;
}

function tooLarge(maxBytes: number): NotJson {
  return new NotJson(`$ has more than ${maxBytes} bytes of JSON`);
}
