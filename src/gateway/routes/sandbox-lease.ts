import { PassThrough } from "node:stream";
import type { FastifyReply } from "fastify";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { GatewayLog } from "../gateway-log.ts";

/**
 * Answers one line with the sandbox's info and keeps the answer open: the sandbox lives no longer than the client holds it.
 * That is what `ephemeral` means to a caller that is another process.
 */
export async function leaseSandbox(sandbox: Sandbox, reply: FastifyReply, log: GatewayLog): Promise<FastifyReply> {
  const end = (): void => {
    sandbox.kill().catch((error: unknown) => {
      if (isEnded(error)) return;
      log.error({ err: error, sandbox: sandbox.id }, "An ephemeral sandbox could not be killed; it lives until its deadline");
    });
  };
  // The client may have gone while the sandbox was made.
  if (reply.raw.destroyed) end();
  else reply.raw.once("close", end);
  const body = new PassThrough();
  body.write(`${JSON.stringify(await sandbox.info())}\n`);
  return reply.code(201).type("application/x-ndjson").send(body);
}

function isEnded(error: unknown): boolean {
  return error instanceof BelljarError && (error.code === "SANDBOX_ENDED" || error.code === "SANDBOX_NOT_FOUND");
}
