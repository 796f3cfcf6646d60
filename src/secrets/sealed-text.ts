import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { HomeKey } from "../files/home-key.ts";

const CIPHER = "aes-256-gcm";

export type SealedNoun = "secret" | "setting" | "servers";

/** The identity that a value is bound to. A file that is copied to another name or owner does not decrypt. */
export interface Belongs {
  readonly noun: SealedNoun;
  readonly owner: string;
  readonly name: string;
}

interface Sealed {
  /** The id of the key that encrypted the data. */
  readonly key: string;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

export function seal(key: HomeKey, belongs: Belongs, value: string): Sealed & { readonly version: 1 } {
  const iv = randomBytes(12);
  const cipher = createCipheriv(CIPHER, key.bytes, iv).setAAD(toBoundData(belongs));
  const data = Buffer.concat([cipher.update(value, "utf8"), cipher.final()]);
  const text = (bytes: Buffer): string => bytes.toString("base64");
  return { version: 1, key: key.id, iv: text(iv), tag: text(cipher.getAuthTag()), data: text(data) };
}

/** Throws if any part of the file was changed. */
export function unseal(key: HomeKey, belongs: Belongs, sealed: Sealed): string {
  const bytes = (text: string): Buffer => Buffer.from(text, "base64");
  const decipher = createDecipheriv(CIPHER, key.bytes, bytes(sealed.iv), { authTagLength: 16 }).setAAD(toBoundData(belongs));
  decipher.setAuthTag(bytes(sealed.tag));
  return Buffer.concat([decipher.update(bytes(sealed.data)), decipher.final()]).toString("utf8");
}

function toBoundData({ noun, owner, name }: Belongs): Buffer {
  return Buffer.from(JSON.stringify([`belljar-${noun}`, 1, owner, name]));
}

/** Undefined for a text that is none. */
export function parseSealed(text: string): Sealed | undefined {
  try {
    const { key, iv, tag, data } = JSON.parse(text) as Partial<Record<keyof Sealed, unknown>>;
    if (typeof key === "string" && typeof iv === "string" && typeof tag === "string" && typeof data === "string")
      return { key, iv, tag, data };
  } catch {
    return undefined;
  }
  return undefined;
}
