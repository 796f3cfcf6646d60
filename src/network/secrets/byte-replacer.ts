import { Transform } from "node:stream";

export interface Replacement {
  readonly find: Buffer;
  readonly put: Buffer;
}

/** Replaces many texts in bytes that come in chunks. It holds back only what may be the start of one, so that events pass as they come. */
export class ByteReplacer {
  readonly #replacements: readonly PreparedReplacement[];
  #held: Buffer = Buffer.alloc(0);

  constructor(replacements: readonly Replacement[]) {
    this.#replacements = replacements.filter(({ find }) => find.length > 0).map((one) => ({ ...one, borders: bordersOf(one.find) }));
  }

  /** What may go on now. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const { parts, rest } = this.#replace(bytes);
    const held = Math.max(0, ...this.#replacements.map((one) => startLength(one, rest)));
    this.#held = Buffer.from(rest.subarray(rest.length - held));
    return join([...parts, rest.subarray(0, rest.length - held)]);
  }

  /** What was held back; it was the start of nothing. */
  end(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }

  #replace(bytes: Buffer): { readonly parts: readonly Buffer[]; readonly rest: Buffer } {
    const parts: Buffer[] = [];
    const next = this.#replacements.map((replacement) => ({ replacement, at: bytes.indexOf(replacement.find) }));
    let from = 0;
    for (let first = firstOf(next); first; first = firstOf(next)) {
      parts.push(bytes.subarray(from, first.at), first.replacement.put);
      from = first.at + first.replacement.find.length;
      for (const one of next) if (one.at !== -1 && one.at < from) one.at = bytes.indexOf(one.replacement.find, from);
    }
    return { parts, rest: bytes.subarray(from) };
  }
}

export function replaceBytes(replacements: readonly Replacement[], bytes: Buffer): Buffer {
  const replacer = new ByteReplacer(replacements);
  return join([replacer.push(bytes), replacer.end()]);
}

export function createReplaceStream(replacements: readonly Replacement[]): Transform {
  const replacer = new ByteReplacer(replacements);
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, replacer.push(chunk)),
    flush: (done) => done(null, replacer.end()),
  });
}

interface PreparedReplacement extends Replacement {
  readonly borders: Uint32Array;
}

interface Next {
  readonly replacement: PreparedReplacement;
  at: number;
}

/** The earliest, and of those the longest. */
function firstOf(next: readonly Next[]): Next | undefined {
  let first: Next | undefined;
  for (const one of next) {
    if (one.at === -1) continue;
    if (!first || one.at < first.at || (one.at === first.at && one.replacement.find.length > first.replacement.find.length)) first = one;
  }
  return first;
}

/** For each length of a prefix, the longest shorter prefix that ends it (Knuth, Morris and Pratt): no content makes the search slow. */
function bordersOf(find: Buffer): Uint32Array {
  const borders = new Uint32Array(find.length);
  for (let at = 1, length = 0; at < find.length; at++) {
    while (length > 0 && find[at] !== find[length]) length = borders[length - 1] ?? 0;
    if (find[at] === find[length]) length++;
    borders[at] = length;
  }
  return borders;
}

/** How many bytes at the end are the start of the text to find, which does not stand in them as a whole. */
function startLength({ find, borders }: PreparedReplacement, bytes: Buffer): number {
  let length = 0;
  for (let at = Math.max(0, bytes.length - find.length + 1); at < bytes.length; at++) {
    while (length > 0 && bytes[at] !== find[length]) length = borders[length - 1] ?? 0;
    if (bytes[at] === find[length]) length++;
  }
  return length;
}

function join(parts: readonly Buffer[]): Buffer {
  const [only = Buffer.alloc(0), ...more] = parts.filter((part) => part.length > 0);
  return more.length === 0 ? only : Buffer.concat([only, ...more]);
}
