import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Sandbox, SandboxInfo, Sandboxes } from "../../../sandbox/sandbox.ts";
import type { Asked } from "../../routes/route.ts";

/** A client of an earlier release sends `ID-CLIENTID`. */
const ID = /^([a-z0-9]{20})(?:-[A-Za-z0-9]{1,64})?$/;

export const idParams = z.object({ id: z.string().min(1).max(200) });

export type AskedOfSandbox = Pick<Asked<z.output<typeof idParams>>, "caller" | "params" | "reached">;

/** The id of a sandbox as the domain has it. Neither names nor beginnings of ids are taken. Throws `SANDBOX_NOT_FOUND`. */
export function toSandboxId(text: string): string {
  const [, id] = ID.exec(text) ?? [];
  if (id !== undefined) return id;
  throw new BelljarError("SANDBOX_NOT_FOUND", `No sandbox ${JSON.stringify(text.slice(0, 40))}`);
}

/** The caller's sandbox that the path names. Rejects with `SANDBOX_NOT_FOUND`, and with `SANDBOX_ENDED`, which says why and when. */
export async function findInfo(sandboxes: Pick<Sandboxes, "info">, { caller, params, reached }: AskedOfSandbox): Promise<SandboxInfo> {
  const info = await sandboxes.info(caller, toSandboxId(params.id));
  reached(info.id);
  if (info.state === "ended") throw ended(info);
  return info;
}

export interface FoundSandbox {
  readonly sandbox: Sandbox;
  readonly info: SandboxInfo;
}

/** As `findInfo`. */
export async function findSandbox(sandboxes: Pick<Sandboxes, "info" | "get">, asked: AskedOfSandbox): Promise<FoundSandbox> {
  const info = await findInfo(sandboxes, asked);
  return { info, sandbox: await sandboxes.get(asked.caller, info.id) };
}

function ended({ id, endReason = "stopped", endedAt }: SandboxInfo): BelljarError {
  const when = endedAt ? ` at ${endedAt.toISOString()}` : "";
  return new BelljarError("SANDBOX_ENDED", `Sandbox ${id} ended${when} (${endReason}): create another one`);
}
