import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { BelljarError } from "../../../src/errors.ts";

const KEY = randomBytes(32);

export function sign(state: string): string {
  return `${state}.${mac(state)}`;
}

/** The state that `sign` was given; rejects what anybody else made. */
export function open(signed: string | undefined): string | undefined {
  if (signed === undefined) return undefined;
  const at = signed.lastIndexOf(".");
  const given = Buffer.from(signed.slice(at + 1));
  const wanted = Buffer.from(mac(signed.slice(0, Math.max(0, at))));
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return signed.slice(0, at);
  throw new BelljarError("ARGUMENTS_INVALID", "requestState is not as it was given out");
}

function mac(state: string): string {
  return createHmac("sha256", KEY).update(state).digest("hex");
}
