import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod";
import { mapLimit } from "../async/map-limit.ts";
import { TurnsByKey } from "../async/turns-by-key.ts";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import type { HomeKey } from "../files/home-key.ts";
import { loadHomeKey, openHomeKey } from "../files/home-key.ts";
import type { HomeKeyOptions } from "../files/home-key.ts";
import type { Keyring } from "../files/keyring.ts";
import { parseJson } from "../files/parse-json.ts";
import { createPrivateFile, ensurePrivateFolder, readPrivateFile, removeFile, replacePrivateFile } from "../files/private-files.ts";
import { assertSecretName, assertSecretValue, isSecretName } from "./secret-rules.ts";
import { type Belongs, parseSealed, seal, unseal } from "./sealed-text.ts";
import type { NewSecret, SecretDetail, SecretInfo, SecretStore } from "./secret-store.ts";

export interface SecretStoreOptions {
  /** `$BELLJAR_HOME`, absolute. */
  readonly home: string;
  /** Holds the key if it works. Without a keyring, the key is a file. */
  readonly keyring?: Keyring;
}

const SUFFIX = ".json";
const PARALLEL = 16;

/** In the file of a secret, beside what is sealed. */
const notesSchema = z
  .object({
    revision: z.number().int().positive(),
    createdAt: z.iso.datetime(),
    metadata: z.record(z.string(), z.string()).default({}),
  })
  .transform(({ revision, createdAt, metadata }) => ({ version: revision, createdAt: new Date(createdAt), metadata }));

function toNotes({ version, createdAt, metadata }: SecretDetail): z.input<typeof notesSchema> {
  return { revision: version, createdAt: createdAt.toISOString(), ...(Object.keys(metadata).length > 0 && { metadata }) };
}

const MOST_PER_OWNER = 1000;

/** The secrets of a home, one file each. Any number of processes may share them: each write is a rename. */
export function createSecretStore({ home, keyring }: SecretStoreOptions): SecretStore {
  const anew = (name: string): string => `set the secret anew with \`belljar secret set ${name}\``;
  return new SealedFiles({ folder: join(home, "secrets"), noun: "secret", anew }, keyring);
}

/**
 * The settings that callers send to a server. They may hold API keys, so they are encrypted too, with a key of their own. No list of
 * secrets shows them, and no sandbox can use them.
 */
export function createSettingsStore({ home, keyring }: SecretStoreOptions): Pick<SecretStore, "set" | "reveal"> {
  const anew = (): string => "send it to the server again";
  return new SealedFiles({ folder: join(home, "settings"), noun: "setting", anew }, keyring);
}

/** One kind of encrypted text: its folder, its noun in messages, and the advice on how to store one again. */
interface SealedKind {
  readonly folder: string;
  readonly noun: "secret" | "setting";
  readonly anew: (name: string) => string;
}

class SealedFiles implements SecretStore {
  readonly #kind: SealedKind;
  readonly #folder: string;
  readonly #place: HomeKeyOptions;
  readonly #turns = new TurnsByKey();
  #key: HomeKey | undefined;
  #loading: Promise<HomeKey | undefined> | undefined;

  constructor(kind: SealedKind, keyring: Keyring | undefined) {
    const { folder, noun } = kind;
    this.#kind = kind;
    this.#folder = folder;
    this.#place = {
      folder,
      name: `the key of the ${noun}s`,
      lastResort: `remove ${folder} and set your ${noun}s anew`,
      ...(keyring && { keyring }),
    };
  }

  async set(owner: string, name: string, value: string): Promise<void> {
    await this.note(owner, name, { value });
  }

  /** Of two writers in one process each counts its version. */
  async note(owner: string, name: string, { value, metadata, isNew = false }: NewSecret): Promise<SecretDetail> {
    assertSecretName(name);
    assertSecretValue(value);
    await ensurePrivateFolder(this.#folder);
    await ensurePrivateFolder(this.#ownerFolder(owner));
    return this.#turns.run(this.#path(owner, name), async () => {
      await this.#assertRoom(owner, name);
      const before = await this.#detail(owner, name);
      if (before && isNew) throw this.#taken(name);
      const now = new Date();
      const { version = 0, createdAt = now, metadata: noted = {} } = before ?? {};
      const detail = { name, version: version + 1, createdAt, changedAt: now, metadata: metadata ?? noted };
      this.#key = await openHomeKey(this.#place);
      const sealed = seal(this.#key, this.#belongs(owner, name), value);
      await this.#write(this.#path(owner, name), `${JSON.stringify({ ...sealed, ...toNotes(detail) })}\n`, isNew);
      return { ...detail, ...(await this.#info(owner, name)) };
    });
  }

  async #write(path: string, text: string, isNew: boolean): Promise<void> {
    if (!isNew) return replacePrivateFile(path, text);
    if (!(await createPrivateFile(path, text))) throw this.#taken(basename(path, SUFFIX));
  }

  async details(owner: string): Promise<readonly SecretDetail[]> {
    const found = await mapLimit(await this.#names(owner), PARALLEL, (name) => this.#detail(owner, name));
    return found.filter((detail) => detail !== undefined);
  }

  /** One that an earlier Belljar has stored has its first version. */
  async #detail(owner: string, name: string): Promise<SecretDetail | undefined> {
    const [info, text] = [await this.#info(owner, name), await readPrivateFile(this.#path(owner, name))];
    if (!info || text === undefined) return undefined;
    return { ...info, version: 1, createdAt: info.changedAt, metadata: {}, ...notesSchema.safeParse(parseJson(text)).data };
  }

  async list(owner: string): Promise<readonly SecretInfo[]> {
    const found = await Promise.all((await this.#names(owner)).map((name) => this.#info(owner, name)));
    return found.filter((info) => info !== undefined);
  }

  async remove(owner: string, name: string): Promise<void> {
    assertSecretName(name);
    if (await removeFile(this.#path(owner, name))) return;
    throw new BelljarError("SECRET_NOT_FOUND", `No secret ${name}: list yours with \`belljar secret list\``);
  }

  async reveal(owner: string, name: string): Promise<string | undefined> {
    if (!isSecretName(name)) return undefined;
    const path = this.#path(owner, name);
    const text = await readPrivateFile(path);
    return text === undefined ? undefined : this.#unseal(path, this.#belongs(owner, name), text);
  }

  async #unseal(path: string, belongs: Belongs, text: string): Promise<string> {
    const sealed = parseSealed(text);
    if (!sealed) throw this.#damaged(path, belongs.name);
    // Somebody may have removed the home and made a new one while this process runs.
    if (this.#key?.id !== sealed.key) this.#key = await this.#loadKey();
    if (this.#key?.id !== sealed.key) throw this.#wrongKey(belongs.name);
    try {
      return unseal(this.#key, belongs, sealed);
    } catch (cause) {
      throw this.#damaged(path, belongs.name, cause);
    }
  }

  /** All callers that wait share one question to the keyring. */
  #loadKey(): Promise<HomeKey | undefined> {
    this.#loading ??= loadHomeKey(this.#place).finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #assertRoom(owner: string, name: string): Promise<void> {
    const names = await this.#names(owner);
    if (names.length < MOST_PER_OWNER || names.includes(name)) return;
    throw new BelljarError("QUOTA_EXCEEDED", `There are ${MOST_PER_OWNER} secrets: remove one with \`belljar secret remove NAME\``);
  }

  async #names(owner: string): Promise<readonly string[]> {
    const folder = this.#ownerFolder(owner);
    const files = (await ifPresent(folder, readdir(folder))) ?? [];
    return files
      .filter((file) => file.endsWith(SUFFIX))
      .map((file) => file.slice(0, -SUFFIX.length))
      .filter(isSecretName)
      .toSorted();
  }

  async #info(owner: string, name: string): Promise<SecretInfo | undefined> {
    const path = this.#path(owner, name);
    const found = await ifPresent(path, stat(path));
    return found && { name, changedAt: found.mtime };
  }

  #belongs(owner: string, name: string): Belongs {
    return { noun: this.#kind.noun, owner, name };
  }

  #taken(name: string): BelljarError {
    return new BelljarError("SECRET_NAME_TAKEN", `There is a ${this.#kind.noun} ${name} already: change that one, or choose another name`);
  }

  #damaged(path: string, name: string, cause?: unknown): BelljarError {
    const { noun, anew } = this.#kind;
    return new BelljarError("FILE_IO", `The ${noun} in ${path} is damaged: ${anew(name)}`, { cause });
  }

  #wrongKey(name: string): BelljarError {
    const { folder, noun, anew } = this.#kind;
    const advice = `put the key back from a backup, or ${anew(name)}`;
    return new BelljarError("FILE_IO", `The ${noun} ${name} was encrypted with another key, which ${folder} does not hold: ${advice}`);
  }

  /** Hashed, because an owner's id may be any text. */
  #ownerFolder(owner: string): string {
    return join(this.#folder, createHash("sha256").update(owner).digest("hex").slice(0, 32));
  }

  #path(owner: string, name: string): string {
    return join(this.#ownerFolder(owner), name + SUFFIX);
  }
}
