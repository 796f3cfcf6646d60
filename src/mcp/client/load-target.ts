import { BelljarError } from "../../errors.ts";
import type { ConfigScope } from "./config/expand.ts";
import { loadNamedText } from "./config/load-config-text.ts";
import type { ServerTarget } from "./config/resolve-server.ts";
import { envFileOf, resolveServer } from "./config/resolve-server.ts";
import type { ServerConfig } from "./config/server-config.ts";

/** Gives all variables of a server their values, those of its `envFile` too. Rejects with `CONFIG_INVALID`. */
export async function loadTarget(config: ServerConfig, file: string, scope: ConfigScope): Promise<ServerTarget> {
  const path = envFileOf(config, file, scope);
  const text = path === undefined ? undefined : await loadNamedText(path);
  if (path !== undefined && text === undefined)
    throw new BelljarError("CONFIG_INVALID", `${file}: server "${config.name}", envFile: there is no file ${path}`);
  return resolveServer(config, file, scope, text);
}
