import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { type HomeKey, type HomeKeyOptions, loadHomeKey, openHomeKey } from "../files/home-key.ts";
import type { SecretStoreOptions } from "./create-secret-store.ts";
import { type Belongs, parseSealed, seal, unseal } from "./sealed-text.ts";

/** Encrypts the texts of one folder of the home. Each is bound to its owner: copied to another one's file, it does not decrypt. */
export interface TextSeal {
  readonly folder: string;
  seal(owner: string, text: string): Promise<string>;
  /** Rejects with `FILE_IO` for a text that was changed, or was sealed with another key. */
  unseal(owner: string, sealed: string): Promise<string>;
}

/** For the MCP servers that owners have added: their variables and headers hold keys. */
export function createServersSeal({ home, keyring }: SecretStoreOptions): TextSeal {
  const folder = join(home, "servers");
  const lastResort = `remove ${folder} and add your servers anew`;
  const place: HomeKeyOptions = { folder, name: "the key of the MCP servers", lastResort, ...(keyring && { keyring }) };
  const belongs = (owner: string): Belongs => ({ noun: "servers", owner, name: "servers" });
  let key: HomeKey | undefined;
  return {
    folder,
    async seal(owner, text) {
      key = await openHomeKey(place);
      return JSON.stringify(seal(key, belongs(owner), text));
    },
    async unseal(owner, text) {
      const sealed = parseSealed(text);
      if (sealed && key?.id !== sealed.key) key = await loadHomeKey(place);
      try {
        if (sealed && key?.id === sealed.key) return unseal(key, belongs(owner), sealed);
      } catch (cause) {
        throw damaged(folder, lastResort, cause);
      }
      throw damaged(folder, lastResort);
    },
  };
}

function damaged(folder: string, lastResort: string, cause?: unknown): BelljarError {
  return new BelljarError("FILE_IO", `A file of MCP servers in ${folder} is damaged, or sealed with another key: ${lastResort}`, { cause });
}
