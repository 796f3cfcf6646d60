import { idOf, type HeadFiles } from "./head-files.ts";
import { ToldLater } from "./told-later.ts";
import type { ChangeListener, UnitId } from "./unit-store.ts";
import { watchTree } from "./watch-tree.ts";

/** Tells of every change of a head, by this or another process. It watches as long as somebody listens. */
export class HeadWatch {
  readonly #heads: HeadFiles;
  readonly #report: (problem: string) => void;
  readonly #listeners = new Set<ChangeListener>();
  /** A change makes several events: each number is told once. */
  readonly #told = new Map<string, number>();
  readonly #later = new ToldLater((keys) => this.#tell(keys), { delayMs: 0, failed: (cause) => this.#lost(cause) });
  #watch: { close(): void } | undefined;

  constructor(heads: HeadFiles, report: (problem: string) => void) {
    this.#heads = heads;
    this.#report = report;
  }

  on(listener: ChangeListener): () => void {
    const own: ChangeListener = (changed) => listener(changed);
    this.#watch ??= watchTree(this.#heads.folder, 1, {
      changed: ([key = "", file]) => (file === undefined || file.startsWith("head.") ? this.#later.add(key) : undefined),
      failed: (cause) => this.#lost(cause),
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

  #tell(keys: readonly string[]): void {
    for (const key of keys) {
      const { number, value } = this.#heads.readNumbered(key);
      if (number === (this.#told.get(key) ?? 0)) continue;
      this.#told.set(key, number);
      if (number > 0) this.#toAll(idOf(value));
    }
  }

  #lost(cause: unknown): void {
    this.#report(`Changes of tools by other processes are not all seen: ${cause instanceof Error ? cause.message : String(cause)}`);
    this.#toAll(undefined);
  }

  #toAll(changed: UnitId | undefined): void {
    for (const listener of this.#listeners) listener(changed);
  }
}
