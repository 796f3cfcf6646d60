import type { Random } from "./random.ts";

export const INPUT_MAX_BYTES = 4096;
const CHANGES_MAX = 6;
const INTERESTING = [0, 1, 0x0a, 0x0d, 0x20, 0x22, 0x25, 0x2e, 0x2f, 0x3a, 0x5c, 0x7f, 0x80, 0xc0, 0xff];

interface MutateOptions {
  readonly random: Random;
  readonly words: readonly Uint8Array[];
  /** Another input, of which a part may be taken. */
  readonly other: Buffer;
}

type Change = (input: Buffer, options: MutateOptions) => Buffer;

const CHANGES: readonly Change[] = [
  (input, { random }) => withByte(input, random, (byte) => byte ^ (1 << random.below(8))),
  (input, { random }) => withByte(input, random, () => random.below(256)),
  (input, { random }) => withByte(input, random, () => random.pick(INTERESTING) ?? 0),
  (input, { random }) => withByte(input, random, (byte) => byte + random.below(33) - 16),
  (input, { random }) => replace(input, { at: random.below(input.length + 1), drop: 1 + random.below(16) }),
  (input, { random }) => input.subarray(0, random.below(input.length + 1)),
  (input, { random, words }) => replace(input, { at: random.below(input.length + 1), put: random.pick(words) }),
  (input, { random, words }) => {
    const put = random.pick(words);
    return replace(input, { at: random.below(input.length + 1), drop: put?.length ?? 0, put });
  },
  (input, { random, other }) => replace(input, { at: random.below(input.length + 1), put: part(other, random) }),
  (input, { random }) => replace(input, { at: random.below(input.length + 1), put: part(input, random) }),
  (input, { random }) => replace(input, { at: random.below(input.length + 1), put: Buffer.alloc(1 + random.below(64), random.below(256)) }),
];

/** A new input, at most `INPUT_MAX_BYTES` long; `input` stays as it is. */
export function mutate(input: Buffer, options: MutateOptions): Buffer {
  let changed = input;
  for (let left = 1 + options.random.below(CHANGES_MAX); left > 0; left--) {
    const change = options.random.pick(CHANGES);
    if (change) changed = change(changed, options).subarray(0, INPUT_MAX_BYTES);
  }
  return changed;
}

function withByte(input: Buffer, random: Random, change: (byte: number) => number): Buffer {
  if (input.length === 0) return input;
  const copy = Buffer.from(input);
  const at = random.below(copy.length);
  copy[at] = change(copy[at] ?? 0) & 0xff;
  return copy;
}

function replace(input: Buffer, { at, drop = 0, put }: { readonly at: number; readonly drop?: number; readonly put?: Uint8Array }): Buffer {
  return Buffer.concat([input.subarray(0, at), put ?? Buffer.alloc(0), input.subarray(at + drop)]);
}

function part(input: Buffer, random: Random): Buffer {
  const start = random.below(input.length + 1);
  return input.subarray(start, start + random.below(input.length - start + 1));
}
