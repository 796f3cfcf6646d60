/** Packing and unpacking take threads that the whole server shares, also for files and names. */
export interface ZipShares {
  /** A place for one stream, until it is disposed. Undefined: the owner has its share, or all places are taken. */
  take(owner: string): Disposable | undefined;
}

export interface ZipLimits {
  readonly ofOwner: number;
  readonly all: number;
}

const LIMITS: ZipLimits = { ofOwner: 4, all: 16 };

export function createZipShares(limits = LIMITS): ZipShares {
  const owners = new Map<string, number>();
  let all = 0;
  const change = (owner: string, by: 1 | -1): void => {
    all += by;
    const own = (owners.get(owner) ?? 0) + by;
    if (own === 0) owners.delete(owner);
    else owners.set(owner, own);
  };
  return {
    take(owner) {
      if (all >= limits.all || (owners.get(owner) ?? 0) >= limits.ofOwner) return undefined;
      change(owner, 1);
      let isHeld = true;
      return {
        [Symbol.dispose]: () => {
          if (isHeld) change(owner, -1);
          isHeld = false;
        },
      };
    },
  };
}
