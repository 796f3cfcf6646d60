import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { mapLimit } from "../../async/map-limit.ts";
import type { TurnsByKey } from "../../async/turns-by-key.ts";
import { nowIfPresent } from "../../files/file-error.ts";
import { idOf, type HeadFiles } from "./head-files.ts";
import { UNIT_FILES } from "./read-unit-folder.ts";
import type { UnitPlace } from "./replace-ours.ts";
import { ToldLater } from "./told-later.ts";
import { folderNameOf, plainTextOf, unitKey } from "./unit-folder-names.ts";
import type { ChangeListener, UnitEdit, UnitId } from "./unit-store.ts";
import { watchTree } from "./watch-tree.ts";
import type { WorkingCopy } from "./working-copy.ts";

/** An editor's save and a checkout are several events. They are looked at together. */
const TOLD_AFTER_MS = 40;
const READ_AT_ONCE = 8;

export interface HandFoldersOptions {
  readonly folder: string;
  readonly aside: string;
  readonly heads: HeadFiles;
  readonly copy: WorkingCopy;
  readonly turns: TurnsByKey;
  readonly report: (problem: string) => void;
}

/** `<owner>/<name>/`: the folders in which persons work. */
export class HandFolders {
  readonly #options: HandFoldersOptions;
  readonly #listeners = new Set<ChangeListener>();
  readonly #later = new ToldLater((paths) => this.#tell(paths), {
    delayMs: TOLD_AFTER_MS,
    failed: (cause) => this.#options.report(`Some changes of the files of tools are not seen: ${messageOf(cause)}`),
  });
  #watch: { close(): void } | undefined;

  constructor(options: HandFoldersOptions) {
    this.#options = options;
  }

  /** Makes the folder as the newest version is. Never rejects: what is stored holds, whatever becomes of the folder. */
  async place(id: UnitId): Promise<void> {
    try {
      await this.#options.copy.place(this.#placeOf(id));
    } catch (cause) {
      this.#options.report(`The files of the tools ${JSON.stringify(id.name)} are not as the newest version: ${messageOf(cause)}`);
    }
  }

  /** Ends what killed processes began, and names the units that a person has changed. */
  async edits(): Promise<readonly UnitId[]> {
    const edited = await mapLimit(await this.#all(), READ_AT_ONCE, async (id) => {
      await this.#options.turns.run(unitKey(id), () => this.place(id));
      return (await this.edited(id)) && id;
    });
    return edited.filter((id) => id !== undefined);
  }

  edited(id: UnitId): Promise<UnitEdit | undefined> {
    return this.#options.copy.edited(this.#placeOf(id));
  }

  folderOf(id: UnitId): string {
    return this.#placeOf(id).folder;
  }

  on(listener: ChangeListener): () => void {
    const own: ChangeListener = (changed) => listener(changed);
    this.#watch ??= watchTree(this.#options.folder, 2, {
      changed: (path) => (path.length < 3 || UNIT_FILES.includes(path[2] ?? "") ? this.#later.add(path.slice(0, 2).join("/")) : undefined),
      failed: (cause) => this.#options.report(`Some changes of tools by hand are not seen: ${messageOf(cause)}`),
    });
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#later.close();
  }

  #tell(paths: readonly string[]): void {
    const all = new Set(paths.flatMap((path) => (path.includes("/") ? [path] : this.#below(path))));
    for (const path of all) {
      const id = this.#idOf(path);
      if (id) for (const listener of this.#listeners) listener(id);
    }
  }

  async #all(): Promise<readonly UnitId[]> {
    const ids = (await this.#options.heads.all()).map(({ owner, name }) => ({ owner, name }));
    const owners = this.#foldersIn("").flatMap((owner) => this.#foldersIn(owner).map((name) => `${owner}/${name}`));
    const byKey = new Map([...ids, ...owners.flatMap((path) => this.#idOf(path) ?? [])].map((id) => [unitKey(id), id]));
    return [...byKey.values()];
  }

  /** All units of an owner's folder, those that are gone too. */
  #below(owner: string): readonly string[] {
    const stored = this.#options.heads.keys().filter((key) => key.startsWith(`${owner}@`));
    return [...stored.map((key) => key.replace("@", "/")), ...this.#foldersIn(owner).map((name) => `${owner}/${name}`)];
  }

  #foldersIn(path: string): readonly string[] {
    const folder = join(this.#options.folder, path);
    if (nowIfPresent(folder, () => lstatSync(folder))?.isDirectory() !== true) return [];
    const entries = nowIfPresent(folder, () => readdirSync(folder, { withFileTypes: true })) ?? [];
    return entries.flatMap((entry) => (entry.isDirectory() && !entry.name.startsWith(".") ? [entry.name] : []));
  }

  #idOf(path: string): UnitId | undefined {
    const [ownerFolder = "", nameFolder = ""] = path.split("/");
    const [owner, name] = [plainTextOf(ownerFolder), plainTextOf(nameFolder)];
    if (owner !== undefined && name !== undefined) return { owner, name };
    const known = idOf(this.#options.heads.read(`${ownerFolder}@${nameFolder}`));
    if (!known && this.#foldersIn(ownerFolder).includes(nameFolder))
      this.#options.report(
        `${join(this.#options.folder, path)} is left out: the name of a folder of tools has letters, digits, ".", "_" and "-"`,
      );
    return known;
  }

  #placeOf({ owner, name }: UnitId): UnitPlace {
    const { folder, aside } = this.#options;
    return { key: unitKey({ owner, name }), folder: join(folder, folderNameOf(owner), folderNameOf(name)), aside };
  }
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
