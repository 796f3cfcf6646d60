import type { Config } from "../../config/config.ts";
import type { Keyring } from "../../files/keyring.ts";
import { openKeyring } from "../../files/keyring.ts";

/** The home, and the keyring that may have its keys. */
export function homeWithKeyring({ home, secretsKey }: Config): { readonly home: string; readonly keyring?: Keyring } {
  return { home, ...(secretsKey === "auto" && { keyring: openKeyring() }) };
}
