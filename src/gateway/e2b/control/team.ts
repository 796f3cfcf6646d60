import { createHash } from "node:crypto";
import type { Principal } from "../../../sandbox/sandbox.ts";

/** Each owner is a team of one. */
export interface Team {
  /** A UUID, as clients expect. */
  readonly id: string;
  /** As it stands before the slash of a name. */
  readonly slug: string;
}

export function teamOf({ id, name }: Pick<Principal, "id" | "name">): Team {
  const hex = createHash("sha256").update(`team:${id}`).digest("hex");
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 63);
  return { id: toUuid(BigInt(`0x${hex}`)), slug: slug === "" ? "team" : slug };
}

const BITS = 122n;

/** Version 8 of RFC 9562: 122 bits of our own. */
export function toUuid(number: bigint): string {
  const bits = BigInt.asUintN(Number(BITS), number);
  const [high, middle, low] = [bits >> 74n, (bits >> 62n) & 0xfffn, bits & ((1n << 62n) - 1n)];
  const hex = ((high << 80n) | (8n << 76n) | (middle << 64n) | (2n << 62n) | low).toString(16).padStart(32, "0");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The number of a UUID that `toUuid` made. */
export function fromUuid(uuid: string): bigint | undefined {
  if (!UUID.test(uuid)) return undefined;
  const all = BigInt(`0x${uuid.replaceAll("-", "")}`);
  return ((all >> 80n) << 74n) | (((all >> 64n) & 0xfffn) << 62n) | (all & ((1n << 62n) - 1n));
}
