import { createHash } from "node:crypto";
import { readdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ifPresent } from "../../../files/file-error.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { createPrivateFile, ensurePrivateFolder, readPrivateFile, removeFile, replacePrivateFile } from "../../../files/private-files.ts";
import { type PackageLock, packageLockSchema } from "../../../packages/package-lock.ts";

/** Which program an owner has for what an entry asks. */
export interface KeptProgram {
  readonly program: string;
  /** Of its package. */
  readonly version: string;
  readonly lock: PackageLock;
}

export interface ProgramPlace {
  /** The principal's id. */
  readonly owner: string;
  /** What was asked. */
  readonly name: string;
}

const UNUSED_MS = 30 * 24 * 3_600_000;
const MOST_PER_OWNER = 64;
const NAME = /^[0-9a-f]{40}\.json$/;

const keptSchema = z.strictObject({
  program: z.string().min(1).max(200),
  version: z.string().min(1).max(100),
  lock: packageLockSchema,
}) satisfies z.ZodType<KeptProgram>;

/**
 * One file for each program that an owner has started, which any number of processes share. Its time says when it was started last: those that
 * nobody has started for a month are forgotten, and of an owner with too many those that were started first.
 */
export class KeptPrograms {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined for one that is unknown, or whose file is damaged. */
  async read(place: ProgramPlace): Promise<KeptProgram | undefined> {
    return readKept(this.#path(place));
  }

  /** What an owner has once it holds, of whichever process was first. */
  async keepFirst(place: ProgramPlace, program: KeptProgram): Promise<KeptProgram> {
    await this.#ensureFolder(place);
    if (await createPrivateFile(this.#path(place), toText(program))) return program;
    const other = await this.read(place);
    if (!other) await this.keep(place, program);
    return other ?? program;
  }

  async keep(place: ProgramPlace, program: KeptProgram): Promise<void> {
    await this.#ensureFolder(place);
    await replacePrivateFile(this.#path(place), toText(program));
  }

  /** It is started now. */
  async touch(place: ProgramPlace): Promise<void> {
    const now = new Date();
    await ifPresent(this.#path(place), utimes(this.#path(place), now, now));
  }

  /** Forgets the old ones. Resolves with the keys of the locks of those that stay. */
  async removeOld(): Promise<ReadonlySet<string>> {
    const folders = (await ifPresent(this.#folder, readdir(this.#folder))) ?? [];
    const kept = await Promise.all(folders.map((name) => removeOldOf(join(this.#folder, name))));
    return new Set(kept.flat());
  }

  async #ensureFolder({ owner }: ProgramPlace): Promise<void> {
    await ensurePrivateFolder(this.#folder);
    await ensurePrivateFolder(join(this.#folder, hash(owner)));
  }

  #path({ owner, name }: ProgramPlace): string {
    return join(this.#folder, hash(owner), `${hash(name)}.json`);
  }
}

async function removeOldOf(folder: string): Promise<readonly string[]> {
  const names = ((await ifPresent(folder, readdir(folder))) ?? []).filter((name) => NAME.test(name));
  const found = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), at: (await ifPresent(folder, stat(join(folder, name))))?.mtimeMs ?? 0 })),
  );
  const newest = found.toSorted((one, other) => other.at - one.at);
  const isKept = ({ at }: { readonly at: number }, index: number): boolean => index < MOST_PER_OWNER && at > Date.now() - UNUSED_MS;
  for (const { path } of newest.filter((one, index) => !isKept(one, index))) await removeFile(path);
  const kept = await Promise.all(newest.filter(isKept).map(({ path }) => readKept(path)));
  return kept.flatMap((one) => (one ? [one.lock.key] : []));
}

async function readKept(path: string): Promise<KeptProgram | undefined> {
  const text = await readPrivateFile(path);
  return text === undefined ? undefined : keptSchema.safeParse(parseJson(text)).data;
}

function toText(program: KeptProgram): string {
  return `${JSON.stringify(program)}\n`;
}

/** An owner's id and what was asked may be any text. */
function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 40);
}
