import { randomBytes } from "node:crypto";
import { Transform } from "node:stream";

const PREFIX = "belljar_secret_";
const RANDOM_LENGTH = 26;
const LENGTH = PREFIX.length + RANDOM_LENGTH;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const PATTERN = new RegExp(`${PREFIX}[a-z2-7]{${RANDOM_LENGTH}}`, "g");

/** Creates the text that a variable holds inside instead of a secret: 130 random bits, in characters that need no quoting anywhere. */
export function createPlaceholder(): string {
  const letters = Array.from(randomBytes(RANDOM_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PREFIX + letters.join("");
}

export function isPlaceholder(text: string): boolean {
  return text.length === LENGTH && text.replace(PATTERN, "") === "";
}

/** Replaces each placeholder in the text. */
export function replacePlaceholders(text: string, replace: (placeholder: string) => string): string {
  return text.includes(PREFIX) ? text.replaceAll(PATTERN, replace) : text;
}

/** Returns the first of the wanted placeholders in these bytes. */
export function findPlaceholder(bytes: Buffer, wanted: ReadonlySet<string>): string | undefined {
  for (let at = bytes.indexOf(PREFIX); at !== -1; at = bytes.indexOf(PREFIX, at + 1)) {
    const candidate = bytes.toString("latin1", at, at + LENGTH);
    if (wanted.has(candidate)) return candidate;
  }
  return undefined;
}

/** Passes bytes on until a wanted placeholder is complete, even across chunks. Then it breaks with the error of `onFound`. */
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
