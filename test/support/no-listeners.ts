import type { OwnListeners } from "../../src/network/own-listeners.ts";

/** For a test beside which no Belljar listens; a claim is good for nothing but its port. */
export const NO_LISTENERS: OwnListeners = {
  claim: async ({ port }) => ({ port, [Symbol.asyncDispose]: async () => undefined }),
  has: async () => false,
};
