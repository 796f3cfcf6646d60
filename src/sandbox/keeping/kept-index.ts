import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileError } from "../../files/file-error.ts";

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
/** Two changes within one tick of the file system's clock leave the same time on the folder. */
const TICK_MS = 100;

/**
 * `<home>/kept/`: an empty file for each stopped sandbox, whose name is what is known of it. So one look at a folder tells what all of them
 * hold. Any number of processes read and write it. An entry may be out of date: the sandbox may have been started since.
 */
export class KeptIndex {
  readonly #folder: string;
  #known: { readonly mtimeMs: number; readonly entries: ReadonlyMap<string, KeptEntry> } | undefined;

  constructor(home: string) {
    this.#folder = join(home, "kept");
  }

  /** By the id of the sandbox. */
  entries(): ReadonlyMap<string, KeptEntry> {
    const mtimeMs = statSync(this.#folder, { throwIfNoEntry: false })?.mtimeMs;
    if (mtimeMs === undefined) return new Map();
    if (this.#known?.mtimeMs === mtimeMs) return this.#known.entries;
    const entries = new Map(
      this.#names()
        .map((name) => parseName(name))
        .flatMap((entry) => (entry ? [[entry.id, entry]] : [])),
    );
    this.#known = Date.now() - mtimeMs > TICK_MS ? { mtimeMs, entries } : undefined;
    return entries;
  }

  note(entry: KeptEntry): void {
    this.forget(entry.id);
    const path = join(this.#folder, toName(entry));
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path, "", { mode: 0o600 });
    } catch (cause) {
      throw fileError(path, cause);
    } finally {
      this.#known = undefined;
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
    } finally {
      this.#known = undefined;
    }
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#folder);
    } catch (cause) {
      throw fileError(this.#folder, cause);
    }
  }
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
