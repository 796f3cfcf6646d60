import { digestOf } from "../../../files/canonical.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { assertMayManage } from "./may-manage.ts";
import { isApproved, type StoredServers } from "./server-store.ts";

/** An entry that is approved and comes once more stays so. Throws `FORBIDDEN` for one that would take the place of an approved other one. */
export function toAdd(principal: Principal, servers: StoredServers, added: StoredServers): StoredServers {
  return new Map(
    [...added].map(([name, one]) => {
      const known = servers.get(name);
      if (!known || !isApproved(known)) return [name, one];
      const isSame = known.origin === one.origin && digestOf(known.entry) === digestOf(one.entry);
      if (!isSame) assertMayManage(principal);
      return [name, isSame ? known : one];
    }),
  );
}
