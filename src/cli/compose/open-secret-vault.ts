import type { SecretVault } from "../../secrets/secret-store.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readConfig } from "./open-stack.ts";
import { openHomeSecretStore } from "./open-home-secret-store.ts";
import { serverAddress } from "./server-address.ts";

/** Opens the secrets of the server of BELLJAR_URL, or those of the home. */
export async function openSecretVault(call: CommandCall, context: CommandContext): Promise<SecretVault> {
  const config = readConfig(call, context);
  const server = serverAddress(config, context);
  if (!server) return openHomeSecretStore(config);
  const { createRemoteSecrets } = await import("../../remote/remote-secrets.ts");
  return createRemoteSecrets(server);
}
