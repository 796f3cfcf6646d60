import type { Config } from "../../config/config.ts";
import type { Keyring } from "../../files/keyring.ts";
import { openKeyring } from "../../files/keyring.ts";

/** Returns the home, and the keyring if the configuration allows it. */
export function homeWithKeyring({ home, secretsKey }: Pick<Config, "home" | "secretsKey">): {
  readonly home: string;
  readonly keyring?: Keyring;
} {
  return { home, ...(secretsKey === "auto" && { keyring: openKeyring() }) };
}
