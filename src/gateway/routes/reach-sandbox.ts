import type { Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import type { Asked } from "./route.ts";

/** The caller's sandbox that the path names. The audit learns its full id. Rejects with `SANDBOX_NOT_FOUND`. */
export async function reachSandbox(
  sandboxes: Pick<Sandboxes, "get">,
  { caller, params: { id }, reached }: Pick<Asked<{ readonly id: string }>, "caller" | "params" | "reached">,
): Promise<Sandbox> {
  const sandbox = await sandboxes.get(caller, id);
  reached(sandbox.id);
  return sandbox;
}
