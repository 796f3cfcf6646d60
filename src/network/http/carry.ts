import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";

const LISTENERS = 20;

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
  // Node's own listeners of a socket with TLS and those of two pipes are more than it takes for a leak.
  setMaxListeners(LISTENERS, one, other);
  await Promise.all([carry(one, other), carry(other, one)]);
}
