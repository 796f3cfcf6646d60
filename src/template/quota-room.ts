import { BelljarError } from "../errors.ts";
import { quotasOf } from "../sandbox/grants.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { MakingParts, Wish } from "./making/making.ts";
import type { TemplateRecord } from "./template-record.ts";

type QuotaParts = Pick<MakingParts, "stored" | "maxBytes" | "quotas">;

/**
 * How many bytes a template may have that is about to be made: what the quota leaves beside those that are there, and beside those that were
 * begun before it, which may each become as large as one may be. So the quota holds while files are written, whatever is made at once. One
 * that takes the place of another one is counted in its place. Rejects with `QUOTA_EXCEEDED`, and with `TEMPLATE_BUSY` if only those in the
 * making are in its way.
 */
export async function findRoom(parts: QuotaParts, { principal, options: { name }, earlier }: Wish): Promise<number> {
  const { stored, maxBytes, quotas } = parts;
  const { templateBytes: most } = quotasOf(principal, quotas);
  if (most === undefined) return maxBytes;
  const made = await stored.files.list();
  const left = most - sumOf(made, principal, name);
  const making = earlier.filter(({ id, isMaking }) => isMaking && !made.some((one) => one.id === id));
  const room = Math.min(maxBytes, left - making.length * maxBytes);
  if (room > 0) return room;
  throw left > 0 ? busy(most) : exceeded(most, most - left);
}

/** The same of one that is made, and of which nobody knew how large it would be. */
export async function assertRoom(parts: QuotaParts, principal: Principal, { bytes, name }: TemplateRecord): Promise<void> {
  const { templateBytes: most } = quotasOf(principal, parts.quotas);
  if (most === undefined) return;
  const used = sumOf(await parts.stored.files.list(), principal, name);
  if (used + bytes > most) throw exceeded(most, used);
}

/** Says that it was the quota that bounded an image, if it was. */
export function tellRoom(cause: unknown, room: number, { maxBytes }: Pick<QuotaParts, "maxBytes">): unknown {
  if (room >= maxBytes || !(cause instanceof BelljarError) || cause.code !== "IMAGE_TOO_LARGE") return cause;
  return new BelljarError("QUOTA_EXCEEDED", `Your quota of bytes of templates has no room for more than ${room} bytes: ${REMOVE}`, {
    cause,
  });
}

function sumOf(made: readonly TemplateRecord[], principal: Principal, without: string): number {
  const own = made.filter(({ owner, name }) => owner === principal.id && name !== without);
  return own.reduce((sum, { bytes }) => sum + bytes, 0);
}

const REMOVE = "remove one with `belljar template remove`";

function exceeded(most: number, used: number): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `Your quota of ${most} bytes of templates has no room beside the ${used} of others: ${REMOVE}`);
}

function busy(most: number): BelljarError {
  const text = `Other templates of yours are being made, which may take what is left of the quota of ${most} bytes: wait for them`;
  return new BelljarError("TEMPLATE_BUSY", text);
}
