import type { FileInfo } from "../../runtime/guest/guest.ts";
import { fromKey, toKey } from "./entry.ts";
import { fromAbove } from "./folders-above.ts";
import { endsAtGit, GIT_STORES, holdsObeyed, TOP_GIT } from "./git-name.ts";
import { hostGit } from "./host-git.ts";
import type { Selection } from "./select-paths.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const NAMES_MAX = 64;
/** What projects ignore most: a sandbox may have made it, while the host has none. A name costs no more than a question to git. */
const USUAL = ["node_modules", "__pycache__", ".venv", "venv", "target", "dist", "build", ".next", ".cache"];

/**
 * Folders that take no part in a comparison, with all that lies in them: repositories, and what git of the host ignores. Nobody walks them,
 * but for those that the caller named. Of the repository at the top, only what holds its configuration and its hooks is open.
 */
export class ClosedFolders {
  /** Names that such folders have, for who walks the other side. One with such a name may be open. */
  readonly names: readonly string[];
  readonly #selection: Selection;
  readonly #ignored: Set<string>;

  constructor(ignored: ReadonlySet<string> | undefined, selection: Selection) {
    const found = [...(ignored ?? [])].filter((key) => !selection.leadsInto(key));
    this.#ignored = new Set(found);
    this.#selection = selection;
    const names = found.map((key) => fromKey(lastName(key)).toString()).filter((name) => !name.includes("\uFFFD"));
    this.names = [...new Set([".git", ...(ignored ? USUAL : []), ...names])].slice(0, NAMES_MAX);
  }

  /** Keys of the ignored ones. */
  get ignored(): ReadonlySet<string> {
    return this.#ignored;
  }

  isClosed(key: string): boolean {
    if (this.#ignored.has(key)) return true;
    const isGit = (endsAtGit(key) || key.startsWith(`${TOP_GIT}/`)) && !holdsObeyed(key);
    return isGit && !this.#selection.leadsInto(key);
  }

  /** Names of folders that are not entered below this one. */
  namesBelow(key: string): readonly string[] {
    if (this.#selection.isNamed(key)) return [];
    return key === TOP_GIT ? GIT_STORES.filter((name) => !this.#selection.leadsInto(`${TOP_GIT}/${name}`)) : this.names;
  }

  /** What does not lie in an ignored folder. */
  without<Below>(entries: ReadonlyMap<string, Below>): ReadonlyMap<string, Below> {
    if (this.#ignored.size === 0) return entries;
    const isBelowIgnored = fromAbove((folder) => this.#ignored.has(folder) || undefined);
    return new Map([...entries].filter(([key]) => !isBelowIgnored(key)));
  }

  close(keys: Iterable<string>): void {
    for (const key of keys) if (!this.#selection.leadsInto(key)) this.#ignored.add(key);
  }
}

/** The folders of the host that git ignores as a whole, by key. Undefined where the folder is in no repository. */
export async function listIgnoredFolders(folder: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  const argv = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  const listed = await hostGit(argv, { folder, maxBytes: MAX_BYTES, signal });
  const paths = listed && toKey(listed).split("\0");
  return paths && new Set(paths.filter((path) => path.endsWith("/") && path !== "./").map((path) => path.slice(0, -1)));
}

/** Which of these folders git of the host ignores. */
export async function findIgnoredFolders(folder: string, keys: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  if (keys.length === 0) return [];
  const input = fromKey(keys.map((key) => `./${key}/\0`).join(""));
  const ignored = await hostGit(["check-ignore", "-z", "--stdin"], { folder, input, maxBytes: MAX_BYTES, signal });
  return ignored
    ? toKey(ignored)
        .split("\0")
        .filter(Boolean)
        .map((path) => path.slice("./".length, -1))
    : [];
}

/** The folders of a list that was not to enter those of some names. */
export function stoppedAt(tree: ReadonlyMap<string, FileInfo>, names: readonly string[]): readonly string[] {
  const stops = new Set(names.map((name) => toKey(Buffer.from(name))));
  return [...tree].flatMap(([key, { type }]) => (type === "directory" && stops.has(lastName(key)) ? [key] : []));
}

function lastName(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}
