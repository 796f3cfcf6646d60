import { BelljarError } from "../../../errors.ts";
import type { HubScope } from "../hub-file.ts";
import type { HubServer } from "../hub-server.ts";
import type { ServerStore } from "./server-store.ts";
import { readStoredServer } from "./stored-entry.ts";

/** Folders of the host that these servers may write. */
export function writtenFolders(servers: readonly HubServer[]): readonly string[] {
  return servers.flatMap(({ settings: { mount } }) => (mount?.mode === "rw" ? [mount.host] : []));
}

/** Those of all servers that these owners have added, which may have run before this process. What cannot be read does not run. */
export async function storedFolders(
  owners: readonly string[],
  { store, scope }: { readonly store: ServerStore; readonly scope: HubScope },
): Promise<readonly string[]> {
  const found: HubServer[] = [];
  for (const owner of owners) {
    const stored = await ifReadable(store.read(owner));
    for (const [name, one] of stored ?? []) {
      const server = await ifReadable(readStoredServer(name, one, scope));
      if (server) found.push(server);
    }
  }
  return writtenFolders(found);
}

async function ifReadable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (cause) {
    if (cause instanceof BelljarError) return undefined;
    throw cause;
  }
}
