import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../../errors.ts";
import type { E2b } from "../e2b.ts";
import { findTarget } from "../target.ts";

/** Rejects unless the sandbox that the request names runs. Needs no token, as E2B's clients ask without one: it tells nothing but that. */
export async function assertAlive({ sandboxes }: Pick<E2b, "sandboxes">, request: Pick<IncomingMessage, "headers">): Promise<void> {
  const target = findTarget(request);
  if (!target) throw new BelljarError("ARGUMENTS_INVALID", "Name the sandbox and the port: send E2b-Sandbox-Id and E2b-Sandbox-Port");
  const sandbox = await sandboxes.getLinked(target.sandbox);
  const { state } = await sandbox.info();
  if (state === "running") return;
  throw new BelljarError("SANDBOX_STOPPED", `The sandbox is ${state}`);
}
