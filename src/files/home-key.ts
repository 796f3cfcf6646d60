import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import type { Keyring } from "./keyring.ts";
import { parseJson } from "./parse-json.ts";
import { createPrivateFile, ensurePrivateFolder, readPrivateFile } from "./private-files.ts";

/** A key of the home, for one purpose. `id` stands beside what it was used for, so that a wrong key is told from damage. */
export interface HomeKey {
  readonly id: string;
  readonly bytes: Buffer;
  readonly isInKeyring?: true;
}

/** Where a key is kept, and what a person is told when it is lost. */
export interface HomeKeyOptions {
  /** Holds `key.json`: the key, or the name under which the keyring has it. */
  readonly folder: string;
  /** Without one, or when it does not work, the key is a file. */
  readonly keyring?: Keyring;
  /** Under this name the keyring remembers the id of the key that it was given, so that an exchanged key file is noticed. */
  readonly pin?: string;
  /** `the key of the secrets` */
  readonly name: string;
  /** What helps when it cannot be had back. */
  readonly lastResort: string;
}

const FILE = "key.json";
const KEY_BYTES = 32;

/** Undefined when none was made yet. Throws `FILE_IO` when it is lost. */
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

/** Whether the keyring remembers another key for this place: then somebody has exchanged the key file. */
export async function isExchanged({ keyring, pin }: HomeKeyOptions, { id }: HomeKey): Promise<boolean> {
  const pinned = pin === undefined ? undefined : await keyring?.lookup(pin);
  return pinned !== undefined && pinned !== id;
}

/**
 * Makes the key when there is none: kept in the keyring when there is one that gives it back, else in a file of this user alone.
 * Of several processes that make one at once, the one whose file comes first wins.
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
