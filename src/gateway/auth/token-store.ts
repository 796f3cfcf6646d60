import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import { ifPresent } from "../../files/file-error.ts";
import { parseJson } from "../../files/parse-json.ts";
import { removeFile } from "../../files/private-files.ts";
import { createFile } from "../../files/replace-file.ts";
import { assertStorableTime } from "../../files/storable-time.ts";
import type { Grants, Principal } from "../../sandbox/sandbox.ts";
import { dateField } from "../../sandbox/wire/fields.ts";
import { parseScopes } from "./scopes.ts";

/** A token without its secret part. */
export interface TokenInfo {
  readonly id: string;
  /** The principal that its holder is: tokens of one name see the same sandboxes. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** From then on it lets nobody in. Absent: it does until it is revoked. */
  readonly expiresAt?: Date | undefined;
}

export interface TokenOptions {
  readonly expiresAt?: Date | undefined;
  /** `e2b`: as E2B's clients want an API key, `e2b_` and 40 hexadecimal digits, of which 120 bits are the secret. Default `belljar`. */
  readonly form?: "belljar" | "e2b" | undefined;
}

/** The bearer tokens of a home: what is stored lets nobody in. Any number of processes share them. */
export interface TokenStore {
  /** `token` is told this once. Rejects with `ARGUMENTS_INVALID`. */
  create(name: string, scopes: readonly string[], options?: TokenOptions): Promise<{ readonly id: string; readonly token: string }>;
  list(): Promise<readonly TokenInfo[]>;
  /** From now on, in every process. Rejects with `TOKEN_NOT_FOUND`. */
  revoke(id: string): Promise<void>;
  /** Who holds it; undefined for one that is none, or no more. */
  find(token: string): Promise<Principal | undefined>;
  /** What each valid token of the principal with that id grants. Reads the files at each call. Empty: there is none. */
  grantsOf(owner: string): Promise<readonly Grants[]>;
}

/** Files that are open at once. */
const READ_TOGETHER = 32;
const SECRET_BYTES = 32;
const ID_LENGTH = 10;
const ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
/** 32 bytes are 43 characters of base64url. */
const TOKEN = /^belljar_([a-z0-9]{10})_([A-Za-z0-9_-]{43})$/;
const KEY = /^e2b_([0-9a-f]{10})([0-9a-f]{30})$/;

const FORMS = {
  belljar: {
    makeId: createId,
    makeSecret: () => randomBytes(SECRET_BYTES).toString("base64url"),
    write: (id: string, secret: string) => `belljar_${id}_${secret}`,
  },
  e2b: {
    makeId: () => randomBytes(5).toString("hex"),
    makeSecret: () => randomBytes(15).toString("hex"),
    write: (id: string, secret: string) => `e2b_${id}${secret}`,
  },
} as const;

/** Version 2 expires: a Belljar that does not know of that takes it for no token. */
const schema = z
  .object({
    version: z.union([z.literal(1), z.literal(2)]),
    id: z.string().regex(/^[a-z0-9]{10}$/),
    name: z.string().regex(NAME),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    scopes: z.array(z.string()),
    createdAt: dateField,
    expiresAt: dateField.optional(),
  })
  .refine(({ version, expiresAt }) => (version === 2) === (expiresAt !== undefined));

type TokenRecord = z.output<typeof schema>;

/** One file a token in `<home>/tokens`, for the owner of the home alone. */
export function createTokenStore(home: string): TokenStore {
  const directory = join(home, "tokens");
  const read = (id: string): Promise<TokenRecord | undefined> => readRecord(directory, id);
  const readAll = async (): Promise<readonly TokenRecord[]> => {
    const records = await mapLimit(await idsIn(directory), READ_TOGETHER, read);
    return records.filter((record) => record !== undefined);
  };
  return {
    async create(name, scopes, { expiresAt, form = "belljar" } = {}) {
      assertName(name);
      parseScopes(scopes);
      if (expiresAt) assertStorableTime("The end of the token", expiresAt);
      const { makeId, makeSecret, write } = FORMS[form];
      const secret = makeSecret();
      const ends = expiresAt ? { version: 2, expiresAt } : { version: 1 };
      const record = { ...ends, name, sha256: digest(secret).toString("hex"), scopes, createdAt: new Date() };
      await mkdir(directory, { recursive: true, mode: 0o700 });
      let id = makeId();
      while (!(await createFile(pathOf(directory, id), JSON.stringify({ ...record, id })))) id = makeId();
      return { id, token: write(id, secret) };
    },
    async list() {
      return (await readAll())
        .map(({ id, name, scopes, createdAt, expiresAt }) => ({ id, name, scopes, createdAt, ...(expiresAt && { expiresAt }) }))
        .toSorted((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
    },
    async revoke(id) {
      if (!/^[a-z0-9]{10}$/.test(id) || !(await removeFile(pathOf(directory, id)))) {
        throw new BelljarError("TOKEN_NOT_FOUND", "There is no such token: see `belljar token list`");
      }
    },
    async find(token) {
      const [, id, secret] = TOKEN.exec(token) ?? KEY.exec(token) ?? [];
      if (id === undefined || secret === undefined) return undefined;
      const record = await read(id);
      const isRight = timingSafeEqual(digest(secret), Buffer.from(record?.sha256 ?? "0".repeat(64), "hex"));
      return record && isRight && isValid(record) ? toPrincipal(record) : undefined;
    },
    async grantsOf(owner) {
      const records = (await readAll()).filter((record) => ownerOf(record) === owner && isValid(record));
      return records.flatMap(({ scopes }) => grantsIfKnown(scopes));
    },
  };
}

function isValid({ expiresAt }: TokenRecord): boolean {
  return !expiresAt || expiresAt.getTime() > Date.now();
}

function createId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join("");
}

function toPrincipal(record: TokenRecord): Principal {
  return { id: ownerOf(record), name: record.name, grants: parseScopes(record.scopes) };
}

function ownerOf({ name }: TokenRecord): string {
  return `token:${name}`;
}

/** A token whose scopes are not all known lets nobody in. */
function grantsIfKnown(scopes: readonly string[]): readonly Grants[] {
  try {
    return [parseScopes(scopes)];
  } catch (cause) {
    if (cause instanceof BelljarError) return [];
    throw cause;
  }
}

function assertName(name: string): void {
  if (NAME.test(name)) return;
  throw new BelljarError("ARGUMENTS_INVALID", "A token's name has 1 to 63 characters: a-z, 0-9, dot, dash and underscore");
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function pathOf(directory: string, id: string): string {
  return join(directory, `${id}.json`);
}

async function idsIn(directory: string): Promise<readonly string[]> {
  const names = await ifPresent(directory, readdir(directory));
  return (names ?? []).flatMap((name) => /^([a-z0-9]{10})\.json$/.exec(name)?.[1] ?? []);
}

/** A file that is no token lets nobody in. */
async function readRecord(directory: string, id: string): Promise<TokenRecord | undefined> {
  const text = await ifPresent(directory, readFile(pathOf(directory, id), "utf8"));
  return text === undefined ? undefined : schema.safeParse(parseJson(text)).data;
}
