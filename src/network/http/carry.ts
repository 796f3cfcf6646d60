import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";

/** Carries bytes in one direction until the end, which is passed on. If one stream breaks, both are destroyed. Never rejects. */
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

/** Carries bytes in both directions, with back-pressure, until both directions have ended. */
export async function carryBoth(one: Duplex, other: Duplex): Promise<void> {
  await Promise.all([carry(one, other), carry(other, one)]);
}
