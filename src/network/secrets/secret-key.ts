import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Keyring } from "./keyring.ts";
import { createPrivateFile, readPrivateFile } from "./private-files.ts";

/** What secrets are encrypted with. `id` is written into each of them, so that a wrong key is told from a damaged file. */
export interface SecretKey {
  readonly id: string;
  readonly bytes: Buffer;
}

const FILE = "key.json";
const KEY_BYTES = 32;

/** The home's key, or undefined when none was made yet. Throws `FILE_IO` when it is lost. */
export async function loadSecretKey(folder: string, keyring: Keyring | undefined): Promise<SecretKey | undefined> {
  const path = join(folder, FILE);
  const text = await readPrivateFile(path);
  if (text === undefined) return undefined;
  const { id, key } = parseKeyFile(path, text);
  const found = key ?? (await keyring?.lookup(id));
  if (found === undefined) throw keyringLost(folder);
  const bytes = Buffer.from(found, "base64");
  if (bytes.length !== KEY_BYTES) throw keyFileDamaged(path);
  return { id, bytes };
}

/**
 * The home's key, made when there is none: kept in the keyring when there is one that gives it back, else in a file of this user alone.
 * Of several processes that make one at once, the one whose file comes first wins.
 */
export async function openSecretKey(folder: string, keyring: Keyring | undefined): Promise<SecretKey> {
  const loaded = await loadSecretKey(folder, keyring);
  if (loaded) return loaded;
  const made = { id: randomBytes(16).toString("hex"), bytes: randomBytes(KEY_BYTES) };
  const key = made.bytes.toString("base64");
  const isInKeyring = keyring !== undefined && (await keyring.store(made.id, key)) && (await keyring.lookup(made.id)) === key;
  const content = { version: 1, id: made.id, ...(isInKeyring ? { keyring: true } : { key }) };
  if (await createPrivateFile(join(folder, FILE), `${JSON.stringify(content)}\n`)) return made;
  if (isInKeyring) await keyring.clear(made.id);
  return openSecretKey(folder, keyring);
}

function parseKeyFile(path: string, text: string): { readonly id: string; readonly key?: string } {
  const content = parseJson(text);
  if (typeof content === "object" && content !== null && "id" in content && typeof content.id === "string") {
    if ("key" in content && typeof content.key === "string") return { id: content.id, key: content.key };
    if ("keyring" in content && content.keyring === true) return { id: content.id };
  }
  throw keyFileDamaged(path);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function keyFileDamaged(path: string): BelljarError {
  const advice = "put the file back from a backup, or remove the folder it lies in and set your secrets anew";
  return new BelljarError("FILE_IO", `The key of the secrets in ${path} is damaged: ${advice}`);
}

function keyringLost(folder: string): BelljarError {
  const advice = `unlock it and run this in your own session (secret-tool must work there), or remove ${folder} and set your secrets anew`;
  return new BelljarError("FILE_IO", `The OS keyring does not give the key of the secrets: ${advice}`);
}
