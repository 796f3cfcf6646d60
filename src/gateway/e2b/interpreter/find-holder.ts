import type { FindHolder } from "../admit-sandbox.ts";
import { holderOfAccess } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { findTarget } from "../target.ts";

/** Code runs for whoever holds the access token of the sandbox, or its traffic token: clients send no other one to contexts. */
export function findCodeHolder(e2b: Pick<E2b, "tokens">): FindHolder {
  return async (request) => {
    const access = holderOfAccess(e2b, request);
    if (access !== undefined) return access;
    const token = request.headers["e2b-traffic-access-token"];
    const target = findTarget(request);
    return typeof token === "string" && target && e2b.tokens.isValid("traffic", target.sandbox, token) ? target.sandbox : undefined;
  };
}
