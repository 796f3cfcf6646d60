import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The inputs of one target that are worth keeping: each file is one, named by its hash. */
export interface Corpus {
  /** The smallest first. */
  load(): readonly Buffer[];
  keep(input: Uint8Array): void;
  drop(input: Uint8Array): void;
}

/** `isKept` false: the folder stays as it is. */
export function openCorpus(folder: string, { isKept }: { readonly isKept: boolean }): Corpus {
  if (isKept) mkdirSync(folder, { recursive: true });
  return {
    load: () =>
      namesIn(folder)
        .map((name) => readFileSync(join(folder, name)))
        .toSorted((left, right) => left.length - right.length),
    keep: (input) => void (isKept && writeFileSync(join(folder, nameOf(input)), input)),
    drop: (input) => void (isKept && rmSync(join(folder, nameOf(input)), { force: true })),
  };
}

/** A corpus that nobody has begun is empty. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

export function nameOf(input: Uint8Array): string {
  return createHash("sha256").update(input).digest("hex").slice(0, 16);
}
