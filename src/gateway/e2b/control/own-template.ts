import type { Principal } from "../../../sandbox/sandbox.ts";
import type { E2b } from "../e2b.ts";
import { findName, toDomainName } from "./template-names.ts";

/** Whether a client means a template that is the caller's own, not one that another owner shares. */
export async function hasOwnTemplate({ templates }: Pick<E2b, "templates">, caller: Principal, text: string): Promise<boolean> {
  const named = findName(text, caller);
  if (!named || !templates) return false;
  const name = toDomainName(named);
  return (await (await templates()).list(caller)).some((one) => one.owner === caller.id && one.name === name);
}
