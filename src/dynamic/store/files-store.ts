import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import { fileError } from "../../files/file-error.ts";
import type { UnitHead, UnitVersion } from "../unit.ts";
import { assertStorable, versionMissing } from "./assert-storable.ts";
import { HandFolders, messageOf } from "./hand-folders.ts";
import { filesOf, HeadFiles, type FoundHead } from "./head-files.ts";
import { HeadWatch } from "./head-watch.ts";
import { OwnerLocks } from "./owner-locks.ts";
import { PlacedFiles } from "./placed-files.ts";
import { reportOnce } from "./report-once.ts";
import { sweepStore } from "./sweep-store.ts";
import { unitKey } from "./unit-folder-names.ts";
import type { ChangeListener, EditableStore, UnitEdit, UnitId } from "./unit-store.ts";
import { VersionFiles } from "./version-files.ts";
import { WorkingCopy, type Wanted } from "./working-copy.ts";

/** What Belljar keeps beside the folders of the owners. No owner's folder has a leading dot. */
const OWN_FOLDER = ".belljar";

export interface FilesStoreOptions {
  /** `$BELLJAR_HOME/tools`. It is made if it does not exist. */
  readonly folder: string;
  /** Told of damage that a call leaves out, in words for a person. Each is told once. */
  readonly report: (problem: string) => void;
}

/**
 * Units in files. `<owner>/<name>/` has the newest version's code and manifest, for a person to read, edit and keep in git.
 * `.belljar/` has what Belljar relies on: heads, versions, and what it wrote into the folders. It is outside of them, so a folder that a
 * person removes, cleans or checks out takes no version away.
 */
export function openFilesStore(options: FilesStoreOptions): EditableStore {
  return new FilesStore(options);
}

class FilesStore implements EditableStore {
  readonly #report: (problem: string) => void;
  readonly #heads: HeadFiles;
  readonly #versions: VersionFiles;
  readonly #changes: HeadWatch;
  readonly #hand: HandFolders;
  readonly #owners: OwnerLocks;
  readonly #turns = new TurnsByKey();
  readonly #swept: Promise<void>;

  constructor({ folder, report: tell }: FilesStoreOptions) {
    const made = (name: string): string => makeFolder(join(folder, OWN_FOLDER, name));
    const report = reportOnce(tell);
    const units = made("units");
    const heads = new HeadFiles(units, report);
    const versions = new VersionFiles(units);
    const placed = new PlacedFiles(units);
    const copy = new WorkingCopy(placed, (key) => this.#wanted(key));
    this.#report = report;
    this.#heads = heads;
    this.#versions = versions;
    this.#owners = new OwnerLocks(made("owners"));
    this.#changes = new HeadWatch(heads, report);
    const aside = realpathSync(made("aside"));
    this.#hand = new HandFolders({ folder: realpathSync(folder), aside, heads, copy, turns: this.#turns, report });
    this.#swept = sweepStore({ heads, placed, nowMs: Date.now() }).catch((cause: unknown) =>
      report(`Some left-over files of tools are not removed: ${messageOf(cause)}`),
    );
  }

  heads(): Promise<readonly UnitHead[]> {
    return this.#heads.all();
  }

  async head(owner: string, name: string): Promise<UnitHead | undefined> {
    const found = this.#heads.read(unitKey({ owner, name }));
    return found.kind === "kept" ? found.head : undefined;
  }

  version(owner: string, name: string, number: number): Promise<UnitVersion | undefined> {
    return this.#version(unitKey({ owner, name }), number);
  }

  async write(head: UnitHead, expected: number, added?: UnitVersion): Promise<void> {
    assertStorable(head, expected, added);
    await this.#turns.run(unitKey(head), async () => {
      const file = added && (await this.#versions.create(unitKey(head), added));
      try {
        await this.#change(head, expected, (files) => toKept(head, added && file ? new Map(files).set(added.number, file) : files));
      } catch (cause) {
        if (file) await this.#discard(unitKey(head), file);
        throw cause;
      }
    });
  }

  async remove(owner: string, name: string, expected: number): Promise<void> {
    const id = { owner, name };
    await this.#turns.run(unitKey(id), () => this.#change(id, expected, () => ({ kind: "removed", id })));
  }

  alone<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#owners.alone(owner, work, signal);
  }

  onChange(listener: ChangeListener): () => void {
    return this.#changes.on(listener);
  }

  edits(): Promise<readonly UnitId[]> {
    return this.#hand.edits();
  }

  edited(owner: string, name: string): Promise<UnitEdit | undefined> {
    return this.#hand.edited({ owner, name });
  }

  placeOf(owner: string, name: string): string {
    return this.#hand.folderOf({ owner, name });
  }

  onEdit(listener: ChangeListener): () => void {
    return this.#hand.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#changes.close();
    this.#hand.close();
    await this.#turns.idle();
    await this.#swept;
  }

  /** The change holds once the head is on disk. What follows is ended by the next opening if this process is killed. */
  async #change(id: UnitId, expected: number, next: (files: ReadonlyMap<number, string>) => FoundHead): Promise<void> {
    const dropped = await this.#heads.change(id, expected, next);
    await this.#hand.place(id);
    await this.#versions
      .remove(unitKey(id), dropped)
      .catch((cause: unknown) => this.#report(`Old versions of ${JSON.stringify(id.name)} stay for now: ${messageOf(cause)}`));
  }

  /** Removes the file of a version that was refused. If it is unknown whether the head was written, the head says so. */
  async #discard(key: string, file: string): Promise<void> {
    const found = this.#heads.read(key);
    if (found.kind !== "damaged" && [...filesOf(found).values()].includes(file)) return;
    await this.#versions.remove(key, [file]);
  }

  async #version(key: string, number: number): Promise<UnitVersion | undefined> {
    const file = filesOf(this.#heads.read(key)).get(number);
    if (file === undefined) return undefined;
    const version = await this.#versions.read(key, file);
    if (version?.number === number) return version;
    // Another process may have removed it since.
    if (filesOf(this.#heads.read(key)).get(number) !== file) return this.#version(key, number);
    this.#report(`Version ${number} of a unit of tools is left out: ${this.#versions.path(key, file)} is missing or damaged`);
    return undefined;
  }

  async #wanted(key: string): Promise<Wanted> {
    const found = this.#heads.read(key);
    if (found.kind === "none") return { kind: "free" };
    if (found.kind === "removed") return { kind: "nothing" };
    const newest = found.kind === "kept" ? found.head.versions.at(-1)?.number : undefined;
    const version = newest === undefined ? undefined : await this.#version(key, newest);
    return version ? { kind: "spec", spec: version.spec } : { kind: "unknown" };
  }
}

function toKept(head: UnitHead, files: ReadonlyMap<number, string>): FoundHead {
  const named = head.versions.map(({ number }) => [number, files.get(number)] as const);
  const [missing] = named.find(([, file]) => file === undefined) ?? [];
  if (missing !== undefined) throw versionMissing(head, missing);
  return { kind: "kept", head, files: new Map(named.flatMap(([number, file]) => (file === undefined ? [] : [[number, file]]))) };
}

function makeFolder(folder: string): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (cause) {
    throw fileError(folder, cause);
  }
}
