import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import type { Keyring } from "./keyring.ts";
import { parseJson } from "./parse-json.ts";
import { createPrivateFile, ensurePrivateFolder, readPrivateFile } from "./private-files.ts";

/** A key of the home, for one purpose. Data made with the key carry its `id`, which tells a wrong key from damaged data. */
export interface HomeKey {
  readonly id: string;
  readonly bytes: Buffer;
  readonly isInKeyring?: true;
}

/** The place of a key, and the words for a person when the key is lost. */
export interface HomeKeyOptions {
  /** Folder of `key.json`, which holds the key, or the id of the key in the keyring. */
  readonly folder: string;
  /** Without a keyring, or if it does not work, the key is kept in the file. */
  readonly keyring?: Keyring;
  /** Name under which the keyring remembers the id of its key. `isExchanged` compares this id with the key file's. */
  readonly pin?: string;
  /** For messages, such as `the key of the secrets`. */
  readonly name: string;
  /** Advice for messages, for a key that cannot be recovered. */
  readonly lastResort: string;
}

const FILE = "key.json";
const KEY_BYTES = 32;

/** Returns undefined if no key was made yet. Throws `FILE_IO` if the key is damaged or the keyring does not return it. */
export async function loadHomeKey(place: HomeKeyOptions): Promise<HomeKey | undefined> {
  const text = await readPrivateFile(join(place.folder, FILE));
  if (text === undefined) return undefined;
  const { id, key } = parseKeyFile(place, text);
  const found = key ?? (await place.keyring?.lookup(id));
  if (found === undefined) throw keyringLost(place);
  const bytes = Buffer.from(found, "base64");
  if (bytes.length !== KEY_BYTES) throw keyFileDamaged(place);
  return { id, bytes, ...(key === undefined && { isInKeyring: true }) };
}

/** True if the keyring remembers another key id for this place: somebody has exchanged the key file. */
export async function isExchanged({ keyring, pin }: HomeKeyOptions, { id }: HomeKey): Promise<boolean> {
  const pinned = pin === undefined ? undefined : await keyring?.lookup(pin);
  return pinned !== undefined && pinned !== id;
}

/**
 * Loads the key, or makes one. A new key is kept in the keyring if the keyring returns it again, else in a file that only this user can
 * read. If several processes make a key at once, the first file wins, and all use its key.
 */
export async function openHomeKey(place: HomeKeyOptions): Promise<HomeKey> {
  const { folder, keyring, pin } = place;
  await ensurePrivateFolder(folder);
  const loaded = await loadHomeKey(place);
  if (loaded) return loaded;
  const made = { id: randomBytes(16).toString("hex"), bytes: randomBytes(KEY_BYTES) };
  const key = made.bytes.toString("base64");
  const isInKeyring = keyring !== undefined && (await keyring.store(made.id, key)) && (await keyring.lookup(made.id)) === key;
  const content = { version: 1, id: made.id, ...(isInKeyring ? { keyring: true } : { key }) };
  if (await createPrivateFile(join(folder, FILE), `${JSON.stringify(content)}\n`)) {
    if (isInKeyring && pin !== undefined) await keyring.store(pin, made.id);
    return made;
  }
  if (isInKeyring) await keyring.clear(made.id);
  return openHomeKey(place);
}

function parseKeyFile(place: HomeKeyOptions, text: string): { readonly id: string; readonly key?: string } {
  const content = parseJson(text);
  if (typeof content === "object" && content !== null && "id" in content && typeof content.id === "string") {
    if ("key" in content && typeof content.key === "string") return { id: content.id, key: content.key };
    if ("keyring" in content && content.keyring === true) return { id: content.id };
  }
  throw keyFileDamaged(place);
}

function keyFileDamaged({ folder, name, lastResort }: HomeKeyOptions): BelljarError {
  return new BelljarError("FILE_IO", `${join(folder, FILE)}, ${name}, is damaged: put the file back from a backup, or ${lastResort}`);
}

function keyringLost({ name, lastResort }: HomeKeyOptions): BelljarError {
  const advice = `unlock it and run this in your own session (secret-tool must work there), or ${lastResort}`;
  return new BelljarError("FILE_IO", `The OS keyring does not give out ${name}: ${advice}`);
}
