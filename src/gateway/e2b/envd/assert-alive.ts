import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../../errors.ts";
import { holderOfAccess } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { findTarget } from "../target.ts";

/**
 * Rejects unless the sandbox that the request names, or that its token is for, runs. Needs no token, as E2B's clients ask without one: it tells
 * nothing but that.
 */
export async function assertAlive(e2b: Pick<E2b, "sandboxes" | "tokens">, request: Pick<IncomingMessage, "headers">): Promise<void> {
  const id = findTarget(request)?.sandbox ?? holderOfAccess(e2b, request);
  if (id === undefined)
    throw new BelljarError("ARGUMENTS_INVALID", "Name the sandbox and the port: send E2b-Sandbox-Id and E2b-Sandbox-Port");
  const sandbox = await e2b.sandboxes.getLinked(id);
  const { state } = await sandbox.info();
  if (state === "running") return;
  throw new BelljarError("SANDBOX_STOPPED", `The sandbox is ${state}`);
}
