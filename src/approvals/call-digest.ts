import { createHash } from "node:crypto";
import { canonical } from "../files/canonical.ts";
import type { NamedCall } from "./call-approvals.ts";

/** The whole SHA-256 of exactly this call: the same for the same arguments in another order, and for no other call that anybody can find. */
export function callDigest({ principal, tool, arguments: args }: NamedCall): string {
  return createHash("sha256")
    .update(canonical([principal, tool, args]))
    .digest("hex");
}
