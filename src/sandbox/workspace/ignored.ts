import { fromKey, toKey } from "./entry.ts";
import { hostGit } from "./host-git.ts";
import type { WorkspaceChange } from "./workspace-change.ts";

const MAX_BYTES = 64 * 1024 * 1024;

/** Keys of the changes that git of the host ignores. None where the folder is in no repository. */
export async function findIgnored(folder: string, changes: readonly WorkspaceChange[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  if (changes.length === 0) return new Set();
  // Of a folder that is not there, only the slash says that it is one. A name that begins with a dot and a slash has no magic.
  const asked = changes.map(({ key, guest, host }) => ((guest ?? host)?.type === "directory" ? `${key}/` : key));
  const input = fromKey(asked.map((path) => `./${path}\0`).join(""));
  const ignored = await hostGit(["check-ignore", "-z", "--stdin"], { folder, input, maxBytes: MAX_BYTES, signal });
  const paths = ignored ? toKey(ignored).split("\0") : [];
  return new Set(paths.map((path) => path.slice("./".length, path.endsWith("/") ? -1 : undefined)));
}
