import { PassThrough } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { CreatedSandbox } from "../../sandbox/sandbox.ts";
import type { CreatedInfo } from "../../sandbox/wire/fork-schema.ts";
import type { GatewayLog } from "../gateway-log.ts";
import type { Asked } from "./route.ts";

type Made = Pick<CreatedSandbox, "id" | "info" | "kill" | "lost">;

/**
 * Answers one line with the sandbox's info and keeps the answer open: the sandbox lives no longer than the client holds it.
 * That is what `ephemeral` means to a caller that is another process.
 */
export async function leaseSandbox(
  sandbox: Made,
  { signal, setType }: Pick<Asked, "signal" | "setType">,
  log: GatewayLog,
): Promise<PassThrough> {
  const end = (): void => void endSandbox(sandbox, log);
  // The client may have gone while the sandbox was made.
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  const body = new PassThrough();
  body.write(`${JSON.stringify(await infoOrEnd(sandbox, log))}\n`);
  setType("application/x-ndjson");
  return body;
}

/** The info of a sandbox that was just made. A client that is answered with a failure knows no id, so the sandbox is killed before. */
export async function infoOrEnd(sandbox: Made, log: GatewayLog): Promise<CreatedInfo> {
  const { lost } = sandbox;
  try {
    return { ...(await sandbox.info()), ...(lost && { lost }) };
  } catch (error) {
    await endSandbox(sandbox, log);
    throw error;
  }
}

async function endSandbox(sandbox: Pick<Made, "id" | "kill">, log: GatewayLog): Promise<void> {
  try {
    await sandbox.kill();
  } catch (error) {
    if (isEnded(error)) return;
    log.error({ err: error, sandbox: sandbox.id }, "A sandbox that nobody holds could not be killed; it lives until its deadline");
  }
}

function isEnded(error: unknown): boolean {
  return error instanceof BelljarError && (error.code === "SANDBOX_ENDED" || error.code === "SANDBOX_NOT_FOUND");
}
