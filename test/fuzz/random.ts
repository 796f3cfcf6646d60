/** A sequence of numbers that its seed decides. */
export interface Random {
  /** From 0 up to, not including, `limit`; 0 where `limit` is 0. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T | undefined;
}

/** Marsaglia's xorshift32. */
export function createRandom(seed: number): Random {
  let state = seed | 0 || 1;
  const below = (limit: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return limit > 0 ? (state >>> 0) % limit : 0;
  };
  return { below, pick: (list) => list[below(list.length)] };
}
