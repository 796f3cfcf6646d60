import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { mapLimit } from "../../async/map-limit.ts";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import { createFile, replaceFileBy, UNFINISHED } from "../../files/replace-file.ts";

/** Of one archive. */
export const ARCHIVE_MAX_BYTES = 4 * 2 ** 30;
/** Of one owner's archives together, and how many. Beyond them the oldest go. */
const OWN_MAX_BYTES = 10 * 2 ** 30;
/** More than a build has steps. */
const OWN_MAX = 2_000;
/** Of one owner, uploads at a time. Their bytes count while they come. */
const UPLOADS_MAX = 8;
/** Of one owner, tickets that nobody has used. */
const TICKETS_MAX = 256;
const TICKET_MS = 3_600_000;
/** Since its last use. */
const KEPT_MS = 86_400_000;
/** Longer than any upload may take. */
const UNFINISHED_KEPT_MS = 86_400_000;

const PARALLEL = 16;

const HASH_LENGTH = 64;
const HASH = /^[0-9a-f]{64}$/;
const TICKET = /^([0-9a-f]{32})-([0-9a-f]{32})$/;
const TICKET_PREFIX = "ticket-";

/**
 * Archives of files that builds copy: `templates/archives/<owner>/<hash>`, each its owner's alone. Its owner gets a ticket, and whoever holds
 * that may store one archive once. They are kept for a day after their last use.
 */
export class BuildArchives {
  readonly #directory: string;
  readonly #limits: ArchiveLimits;
  /** By the owner's folder. One without uploads is forgotten. */
  readonly #coming = new Map<string, Coming>();

  constructor(home: string, limits: ArchiveLimits = LIMITS) {
    this.#directory = join(home, "templates", "archives");
    this.#limits = limits;
  }

  /** The path of an archive, which is kept for another day from now on. Undefined: there is none. */
  async find(owner: string, hash: string): Promise<string | undefined> {
    if (!isArchiveHash(hash)) return undefined;
    const path = join(this.#folder(owner), hash);
    const now = new Date();
    return ifPresent(
      path,
      utimes(path, now, now).then(() => path),
    );
  }

  /** A ticket for one archive, for an hour. Beyond the most that an owner may have the oldest go. */
  async invite(owner: string, hash: string): Promise<string> {
    const folder = this.#folder(owner);
    const nonce = randomBytes(16).toString("hex");
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await createFile(join(folder, TICKET_PREFIX + nonce), `${hash} ${owner}`);
      await this.#forgetOld(folder);
    } catch (cause) {
      throw fileError(folder, cause);
    }
    return `${folderName(owner)}-${nonce}`;
  }

  /** Who was given the ticket. Undefined for one that is used, too old, or none. */
  async ownerOf(ticket: string): Promise<string | undefined> {
    const found = this.#place(ticket);
    if (!found) return undefined;
    const age = await ifPresent(found.path, stat(found.path));
    if (!age || Date.now() - age.mtimeMs > TICKET_MS) return undefined;
    const owner = (await ifPresent(found.path, readFile(found.path, "utf8")))?.slice(HASH_LENGTH + 1);
    return owner !== undefined && this.#folder(owner) === found.folder ? owner : undefined;
  }

  /**
   * Stores what comes, whole or not at all. Rejects with `FORBIDDEN` for a ticket that is none, and with `QUOTA_EXCEEDED` for one upload too many of its
   * owner, whose ticket stays valid. Else the ticket is used up, whatever becomes of it: also with `QUOTA_EXCEEDED` when more bytes come at a time than
   * an owner's archives may have.
   */
  async store(ticket: string, content: AsyncIterable<Buffer>): Promise<void> {
    const found = this.#place(ticket);
    if (!found) throw usedUp();
    using coming = this.#begin(found.folder);
    const hash = await this.#use(found.path);
    if (hash === undefined) throw usedUp();
    const path = join(found.folder, hash);
    await replaceFileBy(path, async (file) => {
      for await (const chunk of content) {
        coming.add(chunk.length);
        await file.writeFile(chunk);
      }
    }).catch((cause: unknown) => {
      throw errnoOf(cause) === undefined ? cause : fileError(path, cause);
    });
    await this.#trim(found.folder);
  }

  /** Counts an upload until it is disposed. */
  #begin(folder: string): Disposable & { add(bytes: number): void } {
    const { uploads, bytes: bytesMax } = this.#limits;
    const all = this.#coming.get(folder) ?? { uploads: 0, bytes: 0 };
    if (all.uploads >= uploads) throw tooMuch(`${uploads} archives of yours are being uploaded already`);
    this.#coming.set(folder, all);
    all.uploads += 1;
    let own = 0;
    return {
      add(bytes) {
        own += bytes;
        all.bytes += bytes;
        if (all.bytes > bytesMax) throw tooMuch(`The archives that you upload at the same time have more than ${bytesMax} bytes`);
      },
      [Symbol.dispose]: () => {
        all.uploads -= 1;
        all.bytes -= own;
        if (all.uploads === 0) this.#coming.delete(folder);
      },
    };
  }

  /** Removes what is old, and what a process left that was killed. */
  async sweep(): Promise<void> {
    for (const name of (await ifPresent(this.#directory, readdir(this.#directory))) ?? [])
      await this.#forgetOld(join(this.#directory, name));
  }

  /** The hash of a ticket. Of two that use one at once one gets it. */
  async #use(path: string): Promise<string | undefined> {
    const used = path.replace(TICKET_PREFIX, `${UNFINISHED}used-`);
    const hash = await ifPresent(
      path,
      rename(path, used).then(async () => (await readFile(used, "utf8")).slice(0, HASH_LENGTH)),
    );
    await rm(used, { force: true });
    return hash;
  }

  async #forgetOld(folder: string): Promise<void> {
    let tickets = 0;
    for (const { name, path, at } of await listNewest(folder)) {
      tickets += name.startsWith(TICKET_PREFIX) ? 1 : 0;
      const isSurplus = tickets > TICKETS_MAX && name.startsWith(TICKET_PREFIX);
      if (isSurplus || Date.now() - at > keptMs(name)) await rm(path, { force: true });
    }
  }

  async #trim(folder: string): Promise<void> {
    let [count, total] = [0, 0];
    for (const { path, bytes } of (await listNewest(folder)).filter(({ name }) => isArchiveHash(name))) {
      count += 1;
      total += bytes;
      if (count > OWN_MAX || total > this.#limits.bytes) await rm(path, { force: true });
    }
  }

  #place(ticket: string): { readonly folder: string; readonly path: string } | undefined {
    const [, owner, nonce] = TICKET.exec(ticket) ?? [];
    if (owner === undefined || nonce === undefined) return undefined;
    const folder = join(this.#directory, owner);
    return { folder, path: join(folder, TICKET_PREFIX + nonce) };
  }

  #folder(owner: string): string {
    return join(this.#directory, folderName(owner));
  }
}

interface ArchiveLimits {
  /** Of one owner at a time. */
  readonly uploads: number;
  /** Of one owner: of all that are kept, and of all that come at a time. */
  readonly bytes: number;
}

const LIMITS: ArchiveLimits = { uploads: UPLOADS_MAX, bytes: OWN_MAX_BYTES };

/** What comes now. */
interface Coming {
  uploads: number;
  bytes: number;
}

function usedUp(): BelljarError {
  return new BelljarError("FORBIDDEN", "This upload URL was used, or is too old: ask for another");
}

function tooMuch(what: string): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `${what}: let one end first`, { retryAfterMs: 1_000 });
}

export function isArchiveHash(text: string): boolean {
  return HASH.test(text);
}

/** Hashed, because an owner's id may be any text. */
function folderName(owner: string): string {
  return createHash("sha256").update(owner).digest("hex").slice(0, 32);
}

function keptMs(name: string): number {
  if (name.startsWith(TICKET_PREFIX)) return TICKET_MS;
  return name.startsWith(UNFINISHED) ? UNFINISHED_KEPT_MS : KEPT_MS;
}

interface Found {
  readonly name: string;
  readonly path: string;
  readonly at: number;
  readonly bytes: number;
}

async function listNewest(folder: string): Promise<readonly Found[]> {
  const names = (await ifPresent(folder, readdir(folder))) ?? [];
  const found = await mapLimit(names, PARALLEL, async (name): Promise<readonly Found[]> => {
    const path = join(folder, name);
    const stats = await ifPresent(path, stat(path));
    return stats ? [{ name, path, at: stats.mtimeMs, bytes: stats.size }] : [];
  });
  return found.flat().toSorted((one, other) => other.at - one.at);
}
