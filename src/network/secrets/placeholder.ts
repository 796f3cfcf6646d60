import { randomBytes } from "node:crypto";
import { Transform } from "node:stream";

const PREFIX = "belljar_secret_";
const RANDOM_LENGTH = 26;
const LENGTH = PREFIX.length + RANDOM_LENGTH;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const PATTERN = new RegExp(`${PREFIX}[a-z2-7]{${RANDOM_LENGTH}}`, "g");

/** What a variable holds inside instead of a secret's value: 130 random bits, of characters that no header, query or shell quotes. */
export function createPlaceholder(): string {
  const letters = Array.from(randomBytes(RANDOM_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PREFIX + letters.join("");
}

export function isPlaceholder(text: string): boolean {
  return text.length === LENGTH && text.replace(PATTERN, "") === "";
}

/** The text with each placeholder given to `replace`. */
export function replacePlaceholders(text: string, replace: (placeholder: string) => string): string {
  return text.includes(PREFIX) ? text.replaceAll(PATTERN, replace) : text;
}

/** The first of `wanted` in these bytes. */
export function findPlaceholder(bytes: Buffer, wanted: ReadonlySet<string>): string | undefined {
  for (let at = bytes.indexOf(PREFIX); at !== -1; at = bytes.indexOf(PREFIX, at + 1)) {
    const candidate = bytes.toString("latin1", at, at + LENGTH);
    if (wanted.has(candidate)) return candidate;
  }
  return undefined;
}

/** Lets bytes through as they come until one of `wanted` is complete, also over chunks; then breaks with `onFound`'s error. */
export function createPlaceholderWatch(wanted: ReadonlySet<string>, onFound: (placeholder: string) => Error): Transform {
  let tail: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const head = chunk.subarray(0, LENGTH - 1);
      const found = findPlaceholder(Buffer.concat([tail, head]), wanted) ?? findPlaceholder(chunk, wanted);
      if (found !== undefined) return done(onFound(found));
      tail = Buffer.from(chunk.length >= LENGTH - 1 ? chunk.subarray(1 - LENGTH) : Buffer.concat([tail, chunk]).subarray(1 - LENGTH));
      return done(null, chunk);
    },
  });
}
