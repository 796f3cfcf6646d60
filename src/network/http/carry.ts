import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";

/** Carries one way until it is over. An end passes on as an end; a break of either stream ends both. Never rejects. */
export function carry(from: Duplex, to: Duplex): Promise<void> {
  return new Promise((resolve) => {
    pipeline(from, to, (error) => {
      if (error) {
        from.destroy();
        to.destroy();
      }
      resolve();
    });
  });
}

/** Carries both ways, with the streams' own back-pressure, until both are over. */
export async function carryBoth(one: Duplex, other: Duplex): Promise<void> {
  await Promise.all([carry(one, other), carry(other, one)]);
}
