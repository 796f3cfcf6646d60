import { JSON_DEPTH_MAX } from "./json-depth.ts";

const BLANK = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

/** Where the values of a text of JSON begin, so that a message can name a line. `JSON.parse` says no place that a program may read. */
export interface JsonPlaces {
  /** The first line, from 1, where the text is not JSON, or has too many levels. */
  readonly faultLine?: number;
  /** The line where the value at the path begins, or the nearest value around it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

export function locateJson(text: string): JsonPlaces {
  const reader = new JsonReader(text);
  const isJson = reader.readAll();
  const lineOf = (path: readonly PropertyKey[]): number => {
    const known = reader.begins.get(toKey(path));
    return known === undefined && path.length > 0 ? lineOf(path.slice(0, -1)) : lineAt(text, known ?? 0);
  };
  return { ...(!isJson && { faultLine: lineAt(text, reader.at) }), lineOf };
}

function toKey(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** Reads one text. `at` is the offset of the token that is read, in the end of the one at fault. */
class JsonReader {
  readonly begins = new Map<string, number>();
  readonly #text: string;
  readonly #path: string[] = [];
  #next = 0;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): boolean {
    return this.#value(this.#token()) && this.#token() === "" && this.at === this.#text.length;
  }

  /** The empty text stands for the end, and for what is no token. */
  #token(): string {
    BLANK.lastIndex = this.#next;
    BLANK.exec(this.#text);
    this.at = BLANK.lastIndex;
    TOKEN.lastIndex = this.at;
    const token = TOKEN.exec(this.#text)?.[0] ?? "";
    this.#next = this.at + token.length;
    return token;
  }

  #value(token: string): boolean {
    this.begins.set(toKey(this.#path), this.at);
    if (token === "{") return this.#path.length < JSON_DEPTH_MAX && this.#members();
    if (token === "[") return this.#path.length < JSON_DEPTH_MAX && this.#elements();
    return token !== "" && !/^[}\],:]/.test(token);
  }

  #members(): boolean {
    let token = this.#token();
    if (token === "}") return true;
    for (;;) {
      if (!token.startsWith('"')) return false;
      const name = JSON.parse(token) as string;
      if (this.#token() !== ":" || !this.#below(name, this.#token())) return false;
      token = this.#token();
      if (token === "}") return true;
      if (token !== ",") return false;
      token = this.#token();
    }
  }

  #elements(): boolean {
    let token = this.#token();
    if (token === "]") return true;
    for (let index = 0; ; index += 1) {
      if (!this.#below(String(index), token)) return false;
      token = this.#token();
      if (token === "]") return true;
      if (token !== ",") return false;
      token = this.#token();
    }
  }

  #below(name: string, token: string): boolean {
    this.#path.push(name);
    const isValue = this.#value(token);
    if (isValue) this.#path.pop();
    return isValue;
  }
}
