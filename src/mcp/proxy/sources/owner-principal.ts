import { BelljarError } from "../../../errors.ts";
import { type Grants, LOCAL, type Principal } from "../../../sandbox/sandbox.ts";
import type { HubServer } from "../hub-server.ts";
import { assertMayHave } from "./may-have.ts";

/** What each of an owner's tokens grants that is valid at this moment. */
export interface ValidGrants {
  of(owner: string): Promise<readonly Grants[]>;
}

/**
 * With whose rights an owner's servers run: the local user's, or those of one of the owner's tokens that are valid now and allow the server.
 * Tokens do not add up. What it gives rejects with `FORBIDDEN` without such a token.
 */
export function ownerPrincipal(owners: ValidGrants): (owner: string, server: HubServer) => Promise<Principal> {
  return async (owner, server) => {
    if (owner === LOCAL.id) return LOCAL;
    for (const grants of await owners.of(owner)) {
      const principal: Principal = { id: owner, name: owner, grants };
      if (await isAllowed(principal, server)) return principal;
    }
    throw new BelljarError("FORBIDDEN", `No valid token of the owner of the MCP server "${server.name}" allows what its entry says`);
  };
}

async function isAllowed(principal: Principal, server: HubServer): Promise<boolean> {
  try {
    await assertMayHave(principal, server);
    return true;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FORBIDDEN") return false;
    throw cause;
  }
}
