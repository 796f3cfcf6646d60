import type { FindHolder } from "../admit-sandbox.ts";
import { holderOfAccess } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";

/** Files and processes are for whoever holds the access token of the sandbox. */
export function findFilesHolder(e2b: Pick<E2b, "tokens">): FindHolder {
  return async (request) => holderOfAccess(e2b, request);
}
