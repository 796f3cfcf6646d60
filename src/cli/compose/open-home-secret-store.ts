import type { Config } from "../../config/config.ts";
import { ensureHome } from "../../config/private-directory.ts";
import { createSecretStore } from "../../secrets/create-secret-store.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import { homeWithKeyring } from "./home-with-keyring.ts";

export function openHomeSecretStore(config: Config): SecretStore {
  ensureHome(config.home);
  return createSecretStore(homeWithKeyring(config));
}
