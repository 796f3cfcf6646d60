import { BelljarError } from "../../../errors.ts";
import { readSettingsText } from "../../../files/read-settings-text.ts";
import type { ConfigScope } from "./expand.ts";
import { envFileOf, resolveServer, type ServerTarget } from "./resolve-server.ts";
import type { ServerConfig } from "./server-config.ts";

/** As `resolveServer`, with the server's `envFile`. Rejects with `CONFIG_INVALID` if there is no such file. */
export async function resolveTarget(config: ServerConfig, file: string, scope: ConfigScope): Promise<ServerTarget> {
  const path = envFileOf(config, file, scope);
  const text = path === undefined ? undefined : await readSettingsText(path);
  if (path !== undefined && text === undefined)
    throw new BelljarError("CONFIG_INVALID", `${file}: server "${config.name}", envFile: there is no file ${path}`);
  return resolveServer(config, file, scope, text);
}
