import { createHmac, createSecretKey } from "node:crypto";
import type { HomeKey } from "../files/home-key.ts";

/** Stands for the previous MAC of the first entry of the index, and of the first line of a segment that continues no other segment. */
export const FIRST_MAC = "0".repeat(64);

/** Computes the MAC of a text. It covers the previous MAC, and so all earlier texts. */
export type Sign = (previous: string, text: string | Uint8Array) => string;

/** Lines and index have separate keys, so that a MAC of one is not valid in the other. */
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
    // One more call into native code costs more than joining two short texts.
    return (typeof text === "string" ? hmac.update(previous + text) : hmac.update(previous).update(text)).digest("hex");
  };
}
