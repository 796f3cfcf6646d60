import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import { parseJson } from "../../files/parse-json.ts";
import { UNFINISHED } from "../../files/replace-file.ts";
import { CREATOR, mayBeInTheMaking } from "../creator.ts";
import { isSandboxId } from "../sandbox-id.ts";
import { dateField } from "../wire/fields.ts";

const NOTE = "waiting.json";
const CLAIMED = "claimed";
/** Begins the name of a token that its maker has taken back for a moment. */
const WITHHELD = ".";

const noteSchema = z.object({
  version: z.literal(1),
  createdAt: dateField,
  creator: z.object({ pid: z.number().int().positive(), startedMs: z.number() }),
});

/**
 * Sandboxes without an owner on disk. Such a sandbox has its folder `sandboxes/<id>/` with a note in place of a record, so no list and no
 * owner sees it. Its token `waiting/<key>/<id>` says that it can be claimed, and the key what it is. The claim is the token's rename into the
 * sandbox's folder: of any number of processes one succeeds, once.
 */
export class PoolFiles {
  readonly #tokens: string;
  readonly #sandboxes: string;

  constructor(home: string) {
    this.#tokens = join(home, "waiting");
    this.#sandboxes = join(home, "sandboxes");
  }

  /** The folder appears together with its note. Throws `DISK_FULL` and the like. */
  begin(id: string): void {
    const fresh = join(this.#sandboxes, UNFINISHED + id);
    try {
      mkdirSync(fresh, { mode: 0o700 });
      writeFileSync(join(fresh, NOTE), JSON.stringify({ version: 1, createdAt: new Date(), creator: CREATOR }), { mode: 0o600 });
      renameSync(fresh, join(this.#sandboxes, id));
    } catch (cause) {
      rmSync(fresh, { recursive: true, force: true });
      throw fileError(fresh, cause);
    }
  }

  /** From now on any process of the home may claim it. */
  offer(key: string, id: string): void {
    const path = this.#token(key, id);
    for (let isLast = false; ; isLast = true) {
      try {
        mkdirSync(join(this.#tokens, key), { recursive: true, mode: 0o700 });
        return writeFileSync(path, "", { mode: 0o600, flag: "wx" });
      } catch (cause) {
        // A sweep of another process has removed the folder, which was empty.
        if (isLast || errnoOf(cause) !== "ENOENT") throw fileError(path, cause);
      }
    }
  }

  /** What can be claimed, as far as is known without asking anybody. Synchronous: it is on the path of every create. */
  list(key: string): readonly string[] {
    try {
      return readdirSync(join(this.#tokens, key)).filter(isSandboxId);
    } catch (cause) {
      if (errnoOf(cause) === "ENOENT") return [];
      throw fileError(join(this.#tokens, key), cause);
    }
  }

  /** False when somebody else has it, or its folder is gone. */
  claim(key: string, id: string): boolean {
    return moved(this.#token(key, id), join(this.#sandboxes, id, CLAIMED));
  }

  /** The maker takes the token back, so that nobody claims the sandbox meanwhile. False when somebody has. */
  withhold(key: string, id: string): boolean {
    return moved(this.#token(key, id), this.#token(key, WITHHELD + id));
  }

  putBack(key: string, id: string): void {
    moved(this.#token(key, WITHHELD + id), this.#token(key, id));
  }

  /** Its token goes, whoever had it. */
  async forget(key: string, id: string): Promise<void> {
    await Promise.all([id, WITHHELD + id].map((name) => rm(this.#token(key, name), { force: true })));
  }

  /** Whether this folder without a record is that of a sandbox that is being made to wait. */
  isInTheMaking(id: string, now: number): boolean {
    try {
      const note = noteSchema.safeParse(parseJson(readFileSync(join(this.#sandboxes, id, NOTE), "utf8"))).data;
      return note !== undefined && mayBeInTheMaking(note, now);
    } catch (cause) {
      if (errnoOf(cause) === "ENOENT") return false;
      throw fileError(join(this.#sandboxes, id, NOTE), cause);
    }
  }

  /** The keys of what waits of a hidden snapshot. */
  async keysOf(snapshot: string): Promise<readonly string[]> {
    return ((await ifPresent(this.#tokens, readdir(this.#tokens))) ?? []).filter((key) => key.startsWith(`${snapshot}-`));
  }

  /** Unless a sandbox of the key waits, or is withheld. */
  async removeKey(key: string): Promise<void> {
    try {
      await rmdir(join(this.#tokens, key));
    } catch (cause) {
      const errno = errnoOf(cause);
      if (errno !== "ENOENT" && errno !== "ENOTEMPTY") throw fileError(join(this.#tokens, key), cause);
    }
  }

  /** Removes the tokens of sandboxes that are gone, and keys of which none is left. */
  async sweep(isThere: (id: string) => Promise<boolean>): Promise<void> {
    for (const key of (await ifPresent(this.#tokens, readdir(this.#tokens))) ?? []) {
      const folder = join(this.#tokens, key);
      for (const name of (await ifPresent(folder, readdir(folder))) ?? [])
        if (!(await isThere(name.replace(/^\./, "")))) await rm(join(folder, name), { force: true });
      await this.removeKey(key);
    }
  }

  #token(key: string, name: string): string {
    return join(this.#tokens, key, name);
  }
}

function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return false;
    throw fileError(from, cause);
  }
}
