import { BelljarError } from "../errors.ts";
import type { Config } from "./config.ts";

/** The database of users' tools, as one address or by its parts. */
export type ConfiguredDatabase =
  | { readonly url: string }
  | { readonly host: string; readonly port?: number; readonly name: string; readonly user?: string; readonly password?: string };

/**
 * Where users' tools are stored. Undefined: in files of the home. Other programs set the same variables, so that only who stores tools there
 * is told of a wrong one: throws `CONFIG_INVALID`.
 */
export function databaseOf({ storeInFile, database }: Config["tools"]): ConfiguredDatabase | undefined {
  if (storeInFile) return undefined;
  const { url, host, port, name, user, password } = database;
  if (url !== undefined) return { url };
  if (host === undefined) return undefined;
  if (name === undefined) throw invalid("DB_HOST is set and DB_NAME is not");
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw invalid("DB_PORT is no port");
  return {
    host,
    name,
    ...(port !== undefined && { port: Number(port) }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  };
}

function invalid(problem: string): BelljarError {
  return new BelljarError(
    "CONFIG_INVALID",
    `Where users' tools are stored is unclear: ${problem}. Set it, or STORE_IN_FILE=true to keep them in files`,
  );
}
