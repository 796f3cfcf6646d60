import type { ListFilter, Principal, SandboxInfo, Sandboxes } from "../../src/sandbox/sandbox.ts";

/** The first page of a list, which has all that a test makes. */
export async function listed(
  sandboxes: Pick<Sandboxes, "list">,
  principal: Principal,
  filter: ListFilter = {},
): Promise<readonly SandboxInfo[]> {
  return (await sandboxes.list(principal, { filter })).sandboxes;
}
