import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { mapLimit } from "../../async/map-limit.ts";
import { fileError, ifPresent } from "../../files/file-error.ts";
import { createFile, replaceFile, UNFINISHED } from "../../files/replace-file.ts";
import { isSandboxId } from "../../sandbox/sandbox-id.ts";
import { type BuildRecord, parseBuild, writeBuild } from "./build-record.ts";

const RECORD = "build.json";
const LOG = "log";
/** Of a planned build that has begun: once alone. */
const BEGUN = "begun";
const PARALLEL = 16;
const KEPT_MS = 7 * 86_400_000;
/** Far more than the few system calls of `begin` take. */
const UNFINISHED_KEPT_MS = 60_000;

/** `templates/builds/<id>/`: what builds that go on by themselves have come to, and their logs. */
export class BuildFiles {
  readonly #directory: string;

  constructor(home: string) {
    this.#directory = join(home, "templates", "builds");
  }

  async begin(record: BuildRecord): Promise<void> {
    const fresh = join(this.#directory, UNFINISHED + record.id);
    try {
      await mkdir(fresh, { recursive: true, mode: 0o700 });
      await createFile(join(fresh, RECORD), writeBuild(record));
      await rename(fresh, this.folder(record.id));
    } catch (cause) {
      await rm(fresh, { recursive: true, force: true });
      throw fileError(fresh, cause);
    }
  }

  async end(record: BuildRecord): Promise<void> {
    await this.#replace(record, true);
  }

  /** Of one that was planned. False if it has begun already. */
  async start(record: BuildRecord): Promise<boolean> {
    const path = join(this.folder(record.id), BEGUN);
    try {
      if (!(await createFile(path, ""))) return false;
    } catch (cause) {
      throw fileError(path, cause);
    }
    await this.#replace(record, false);
    return true;
  }

  /** As if `start` had not been called. The record is that of before. */
  async unstart(record: BuildRecord): Promise<void> {
    await this.#replace(record, false);
    const path = join(this.folder(record.id), BEGUN);
    await ifPresent(path, rm(path));
  }

  /** Undefined for what is no id, and for a damaged record. */
  async find(id: string): Promise<BuildRecord | undefined> {
    if (!isSandboxId(id)) return undefined;
    const path = join(this.folder(id), RECORD);
    const text = await ifPresent(path, readFile(path, "utf8"));
    return text === undefined ? undefined : parseBuild(id, text);
  }

  async list(): Promise<readonly BuildRecord[]> {
    const found = await mapLimit((await this.#names()).filter(isSandboxId), PARALLEL, (id) => this.find(id));
    return found.filter((record) => record !== undefined);
  }

  async forget(id: string): Promise<void> {
    const gone = join(this.#directory, UNFINISHED + id);
    await ifPresent(this.folder(id), rename(this.folder(id), gone));
    await ifPresent(gone, rm(gone, { recursive: true, force: true }));
  }

  /** Removes what is old, and what a process left that was killed meanwhile. The template, if there is one, stays. */
  async sweep(): Promise<void> {
    for (const { id, startedAt } of await this.list()) if (Date.now() - startedAt.getTime() > KEPT_MS) await this.forget(id);
    for (const name of (await this.#names()).filter((one) => one.startsWith(UNFINISHED)))
      await this.#removeOld(join(this.#directory, name));
  }

  /** Of one build. */
  folder(id: string): string {
    return join(this.#directory, id);
  }

  log(id: string): string {
    return join(this.folder(id), LOG);
  }

  async #replace(record: BuildRecord, flush: boolean): Promise<void> {
    const path = join(this.folder(record.id), RECORD);
    try {
      await replaceFile(path, writeBuild(record), { flush });
    } catch (cause) {
      throw fileError(path, cause);
    }
  }

  async #removeOld(path: string): Promise<void> {
    const found = await ifPresent(path, stat(path));
    if (found && Date.now() - found.mtimeMs > UNFINISHED_KEPT_MS) await ifPresent(path, rm(path, { recursive: true, force: true }));
  }

  async #names(): Promise<readonly string[]> {
    return (await ifPresent(this.#directory, readdir(this.#directory))) ?? [];
  }
}
