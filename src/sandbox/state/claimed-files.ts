import { statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { mapLimit } from "../../async/map-limit.ts";
import { fileError, ifPresent } from "../../files/file-error.ts";
import { parseJson } from "../../files/parse-json.ts";
import { createFile, flushPath, UNFINISHED } from "../../files/replace-file.ts";
import { isSandboxId } from "../sandbox-id.ts";
import { isProcessAlive, markProcess } from "../workspace/apply/process-mark.ts";

const MAKING = "making.json";
const PARALLEL = 16;
/** Far more than the few system calls of `begin` take. */
const UNFINISHED_KEPT_MS = 60_000;
const REMEMBERED_MAX = 10_000;

const makingSchema = z.object({
  version: z.literal(1),
  owner: z.string(),
  name: z.string().optional(),
  /** The process that makes it. */
  by: z.string(),
});

/** What is known of a snapshot or a template, also of one in the making. */
export interface Claim {
  readonly id: string;
  readonly owner: string;
  readonly name?: string | undefined;
  /** It counts to nobody. */
  readonly isHidden?: true | undefined;
}

export interface KnownClaim extends Claim {
  readonly isMaking: boolean;
}

export interface ClaimedFilesOptions<Stored> {
  /** Has a folder for each id. Other names in it are left alone. */
  readonly directory: string;
  /** What one is called: `snapshot`. Its record is `snapshot.json`. */
  readonly what: string;
  /** Undefined for a damaged record. */
  readonly parse: (id: string, text: string) => Stored | undefined;
  readonly report: (problem: string) => void;
}

/**
 * Records that have layers, each with a folder by its id: `snapshot.json`, written once, and before that `making.json`, which says who makes
 * it. The layers have it as their user as long as one of the two is there, and its maker lives.
 */
export class ClaimedFiles<Stored extends Claim> {
  readonly #directory: string;
  readonly #options: ClaimedFilesOptions<Stored>;
  /** With the text that each was parsed from: a record that was removed may come back with other content under its id. */
  readonly #known = new Map<string, { readonly text: string; readonly record: Stored }>();
  readonly #reported = new Set<string>();

  constructor(options: ClaimedFilesOptions<Stored>) {
    this.#directory = options.directory;
    this.#options = options;
  }

  async begin({ id, ...claim }: Claim): Promise<void> {
    const making = { version: 1, ...claim, by: (await markProcess()) ?? "" };
    const fresh = join(this.#directory, UNFINISHED + id);
    try {
      await mkdir(fresh, { recursive: true, mode: 0o700 });
      await createFile(join(fresh, MAKING), JSON.stringify(making));
      await rename(fresh, this.#folder(id));
    } catch (cause) {
      await rm(fresh, { recursive: true, force: true });
      throw fileError(fresh, cause);
    }
  }

  /** From here on it is there, whatever happens to this host. */
  async commit(record: Stored): Promise<void> {
    const path = this.#record(record.id);
    try {
      await createFile(path, JSON.stringify(record), { flush: true });
      await flushPath(this.#directory);
      await rm(join(this.#folder(record.id), MAKING), { force: true });
    } catch (cause) {
      throw fileError(path, cause);
    }
  }

  /** Sets the time of a record. Not flushed: after a power cut it may be the one before. */
  async touch(id: string): Promise<void> {
    const [path, now] = [this.#record(id), new Date()];
    await ifPresent(path, utimes(path, now, now));
  }

  /** In milliseconds since 1970. */
  touchedAt(id: string): number {
    return statSync(this.#record(id), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  /** From here on it is none. Resolves with whether there was one; of several callers one is told so. */
  async retract(id: string): Promise<boolean> {
    const path = this.#record(id);
    this.#known.delete(id);
    const isRetracted = await ifPresent(
      path,
      rm(path).then(() => true),
    );
    return isRetracted === true;
  }

  /** Removes what is left once nobody uses the layers in its name. */
  async forget(id: string): Promise<void> {
    const gone = join(this.#directory, UNFINISHED + id);
    await ifPresent(this.#folder(id), rename(this.#folder(id), gone));
    await ifPresent(gone, rm(gone, { recursive: true, force: true }));
    this.#known.delete(id);
  }

  /** Undefined if there is none, for one in the making, and for a damaged one, which is reported. */
  async read(id: string): Promise<Stored | undefined> {
    const path = this.#record(id);
    const text = await ifPresent(path, readFile(path, "utf8"));
    if (text === undefined) return undefined;
    const known = this.#known.get(id);
    if (known?.text === text) return known.record;
    const record = this.#options.parse(id, text);
    if (record) this.#remember(text, record);
    else
      this.#reportOnce(
        id,
        `The ${this.#options.what} ${id} is left out: its record ${path} is damaged. Restore it from a backup, or remove its folder`,
      );
    return record;
  }

  /** Undefined for what is no id, too. */
  async find(id: string): Promise<Stored | undefined> {
    return isSandboxId(id) ? this.read(id) : undefined;
  }

  async list(): Promise<readonly Stored[]> {
    const found = await mapLimit(await this.#ids(), PARALLEL, (id) => this.read(id));
    return found.filter((record) => record !== undefined);
  }

  /** All that are there or in the making, of whichever owner, but for hidden ones. */
  async claims(): Promise<readonly KnownClaim[]> {
    const found = await mapLimit(await this.#ids(), PARALLEL, async (id) => {
      const making = await this.#making(id);
      const record = await this.read(id);
      if (record?.isHidden) return undefined;
      if (record) return { id, owner: record.owner, name: record.name, isMaking: false };
      return making && { id, owner: making.owner, name: making.name, isMaking: true };
    });
    return found.filter((claim) => claim !== undefined);
  }

  /** Whether the layers may have it as their user: also a damaged one, which a person may restore. */
  async isUser(id: string): Promise<boolean> {
    const making = await this.#making(id);
    const path = this.#record(id);
    return making !== undefined || (await ifPresent(path, readFile(path))) !== undefined;
  }

  /** Removes what processes left that were killed while they made or removed one. */
  async sweep(): Promise<void> {
    for (const id of await this.#ids()) if (!(await this.isUser(id))) await this.forget(id);
    const names = (await ifPresent(this.#directory, readdir(this.#directory))) ?? [];
    for (const name of names.filter((one) => one.startsWith(UNFINISHED))) await this.#removeOld(join(this.#directory, name));
  }

  async #removeOld(path: string): Promise<void> {
    const found = await ifPresent(path, stat(path));
    if (found && Date.now() - found.mtimeMs > UNFINISHED_KEPT_MS) await ifPresent(path, rm(path, { recursive: true, force: true }));
  }

  /** Undefined if nobody makes it, or its maker is dead. */
  async #making(id: string): Promise<z.output<typeof makingSchema> | undefined> {
    const path = join(this.#folder(id), MAKING);
    const text = await ifPresent(path, readFile(path, "utf8"));
    const making = text === undefined ? undefined : makingSchema.safeParse(parseJson(text)).data;
    return making && (await isProcessAlive(making.by)) ? making : undefined;
  }

  async #ids(): Promise<readonly string[]> {
    return ((await ifPresent(this.#directory, readdir(this.#directory))) ?? []).filter(isSandboxId);
  }

  #record(id: string): string {
    return join(this.#folder(id), `${this.#options.what}.json`);
  }

  #folder(id: string): string {
    return join(this.#directory, id);
  }

  #remember(text: string, record: Stored): void {
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    this.#known.set(record.id, { text, record });
  }

  #reportOnce(id: string, problem: string): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#options.report(problem);
  }
}
