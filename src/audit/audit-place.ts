import { join } from "node:path";
import type { HomeKeyOptions } from "../files/home-key.ts";
import type { Keyring } from "../files/keyring.ts";

export interface AuditHome {
  /** `$BELLJAR_HOME`, absolute. */
  readonly home: string;
  /** Holds the key if it works. Without a keyring, the key is a file. */
  readonly keyring?: Keyring;
}

/** Holds only segments, so that access to this folder gives no access to the index and the key. */
export function segmentsFolder(home: string): string {
  return join(home, "audit");
}

/** Holds the index, the key and the reserve. */
export function indexFolder(home: string): string {
  return join(home, "audit-index");
}

export function auditKeyOptions({ home, keyring }: AuditHome): HomeKeyOptions {
  const folder = indexFolder(home);
  return {
    folder,
    name: "the key of the audit",
    pin: `audit ${home}`,
    lastResort: `move ${folder} and ${segmentsFolder(home)} away, which begins a new audit and leaves the old one unchecked`,
    ...(keyring && { keyring }),
  };
}
