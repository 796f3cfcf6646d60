import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileError } from "../../files/file-error.ts";
import { FolderView } from "../../files/folder-view.ts";

/** What is known of the files of a stopped sandbox. */
export interface KeptEntry {
  readonly id: string;
  /** The run that ended. */
  readonly generation: number;
  readonly stoppedMs: number;
  readonly bytes: number;
  /** The files lie in the memory of the machine. */
  readonly isInMemory: boolean;
  /** Somebody stopped it by a call: nothing removes it unasked. */
  readonly isAsked: boolean;
}

const NAME = /^([a-z0-9]{20})\.(\d{1,9})\.(\d{1,15})\.(\d{1,15})\.(disk|memory)\.(asked|unasked)$/;

/**
 * `<home>/kept/`: an empty file for each stopped sandbox, whose name is what is known of it. So one look at a folder tells what all of them
 * hold. Any number of processes read and write it. An entry may be out of date: the sandbox may have been started since.
 */
export class KeptIndex {
  readonly #folder: string;
  readonly #view: FolderView<ReadonlyMap<string, KeptEntry>>;

  constructor(home: string) {
    this.#folder = join(home, "kept");
    this.#view = new FolderView(this.#folder, toEntries);
  }

  /** By the id of the sandbox. The same object as before if nothing has changed. */
  entries(): ReadonlyMap<string, KeptEntry> {
    return this.#view.read();
  }

  note(entry: KeptEntry): void {
    this.forget(entry.id);
    const path = join(this.#folder, toName(entry));
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path, "", { mode: 0o600 });
    } catch (cause) {
      throw fileError(path, cause);
    }
  }

  /** Without `entry`: all that is known of the sandbox. */
  forget(id: string, entry = this.entries().get(id)): void {
    if (!entry) return;
    const path = join(this.#folder, toName(entry));
    try {
      rmSync(path, { force: true });
    } catch (cause) {
      throw fileError(path, cause);
    }
  }
}

function toEntries(names: readonly string[]): ReadonlyMap<string, KeptEntry> {
  return new Map(names.map((name) => parseName(name)).flatMap((entry) => (entry ? [[entry.id, entry]] : [])));
}

function toName({ id, generation, stoppedMs, bytes, isInMemory, isAsked }: KeptEntry): string {
  return `${id}.${generation}.${stoppedMs}.${bytes}.${isInMemory ? "memory" : "disk"}.${isAsked ? "asked" : "unasked"}`;
}

function parseName(name: string): KeptEntry | undefined {
  const [, id, generation, stoppedMs, bytes, place, asked] = NAME.exec(name) ?? [];
  if (id === undefined) return undefined;
  const numbers = { generation: Number(generation), stoppedMs: Number(stoppedMs), bytes: Number(bytes) };
  return { id, ...numbers, isInMemory: place === "memory", isAsked: asked === "asked" };
}
