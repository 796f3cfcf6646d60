import type { Config } from "../config/config.ts";
import { ensureHome } from "../config/private-directory.ts";
import { createSecretStore } from "../network/secrets/create-secret-store.ts";
import { openKeyring } from "../home/keyring.ts";
import type { SecretStore } from "../network/secrets/secret-store.ts";

export function openHomeSecrets({ home, secretsKey }: Config): SecretStore {
  ensureHome(home);
  return createSecretStore({ home, ...(secretsKey === "auto" && { keyring: openKeyring() }) });
}
