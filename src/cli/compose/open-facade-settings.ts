import type { Config } from "../../config/config.ts";
import { ensureHome } from "../../config/private-directory.ts";
import type { FacadeSettings } from "../../gateway/facade/facade-settings.ts";
import { createFacadeSettings } from "../../gateway/facade/facade-settings.ts";
import { homeWithKeyring } from "./home-with-keyring.ts";

/** Opens the settings that callers of this home have sent about their tool servers. */
export function openFacadeSettings(config: Config): FacadeSettings {
  ensureHome(config.home);
  return createFacadeSettings(homeWithKeyring(config));
}
