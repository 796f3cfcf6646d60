import type { Config } from "../config/config.ts";
import { ensureHome } from "../config/private-directory.ts";
import { createSecretStore } from "../network/secrets/create-secret-store.ts";
import { openKeyring } from "../network/secrets/keyring.ts";
import type { SecretStore, SecretVault } from "../network/secrets/secret-store.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { readConfig } from "./compose.ts";

/** The secrets of the server that BELLJAR_URL names, else of the home. */
export async function openSecrets(call: CommandCall, context: CommandContext): Promise<SecretVault> {
  const config = readConfig(call, context);
  if (config.url === undefined) return openHomeSecrets(config);
  const { createRemoteSecrets } = await import("../gateway/client/remote-secrets.ts");
  return createRemoteSecrets({ url: config.url });
}

export function openHomeSecrets({ home, secretsKey }: Config): SecretStore {
  ensureHome(home);
  return createSecretStore({ home, ...(secretsKey === "auto" && { keyring: openKeyring() }) });
}
