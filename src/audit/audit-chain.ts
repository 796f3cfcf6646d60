import { createHmac, createSecretKey } from "node:crypto";
import type { HomeKey } from "../files/home-key.ts";

/** What the first line of a segment that continues no other one is chained to, and the first entry of the index. */
export const FIRST_MAC = "0".repeat(64);

/** The MAC of a text, which covers the one before it, and so all that stands before it. */
export type Sign = (previous: string, text: string | Uint8Array) => string;

/** One key for lines and one for the index, so that nothing of the one passes for the other. */
export interface AuditSigner {
  readonly keyId: string;
  readonly line: Sign;
  readonly index: Sign;
}

export function createSigner({ id, bytes }: HomeKey): AuditSigner {
  return { keyId: id, line: signWith(derive(bytes, "line")), index: signWith(derive(bytes, "index")) };
}

function derive(bytes: Buffer, purpose: string): Buffer {
  return createHmac("sha256", bytes).update(`belljar-audit-${purpose}-1`).digest();
}

function signWith(bytes: Buffer): Sign {
  const key = createSecretKey(bytes);
  return (previous, text) => {
    const hmac = createHmac("sha256", key);
    // One step over the border to native code costs more than joining two short texts.
    return (typeof text === "string" ? hmac.update(previous + text) : hmac.update(previous).update(text)).digest("hex");
  };
}
