import { execFileSync } from "node:child_process";
import { join } from "node:path";

const SOURCE = join(import.meta.dirname, "../fixtures/tell-all.c");

/** What `test/fixtures/tell-all.c` prints of one entry. */
export interface ToldEntry {
  readonly path: string;
  /** In octal digits, with the kind. */
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
  /** Seconds, with nine digits behind the point. */
  readonly mtime: string;
  readonly size?: number;
  readonly digest?: string;
  /** The first name of the same file. */
  readonly file?: string;
  readonly link?: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Makes the program. It is static, and needs nothing of the root that it runs in. */
export function compileTellAll(to: string): void {
  execFileSync("cc", ["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o", to, SOURCE]);
}

/** A line for each difference of two trees: the path, and what the first has and the second. */
export function tellDifferences(ours: readonly ToldEntry[], others: readonly ToldEntry[]): readonly string[] {
  const [mine, theirs] = [byPath(ours), byPath(others)];
  const paths = [...new Set([...mine.keys(), ...theirs.keys()])].toSorted();
  return paths.flatMap((path) => describe(path, mine.get(path), theirs.get(path)));
}

function byPath(entries: readonly ToldEntry[]): ReadonlyMap<string, ToldEntry> {
  return new Map(entries.map((entry) => [entry.path, entry]));
}

function describe(path: string, ours: ToldEntry | undefined, other: ToldEntry | undefined): readonly string[] {
  if (!ours || !other) return [`${path}: ${ours ? "only ours" : "only theirs"}`];
  const names = [...new Set([...Object.keys(ours), ...Object.keys(other)])] as (keyof ToldEntry)[];
  const text = (entry: ToldEntry, name: keyof ToldEntry): string => JSON.stringify(entry[name]) ?? "nothing";
  return names.flatMap((name) =>
    text(ours, name) === text(other, name) ? [] : [`${path}: ${name} ${text(ours, name)}, theirs ${text(other, name)}`],
  );
}
