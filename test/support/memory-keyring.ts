import type { Keyring } from "../../src/files/keyring.ts";

/** A keyring that is always open. */
export function createMemoryKeyring(): Keyring & { readonly keys: Map<string, string> } {
  const keys = new Map<string, string>();
  return {
    keys,
    store: async (id, key) => keys.set(id, key).has(id),
    lookup: async (id) => keys.get(id),
    clear: async (id) => void keys.delete(id),
  };
}
