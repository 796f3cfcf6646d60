import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Principal, Sandboxes } from "../../sandbox/sandbox.ts";

const ENTRIES_MAX = 1_000;
const TIMEOUT_MS = 5_000;

/** Names in the folder that a beginning of a path leads to; none when there is no such sandbox or folder. Folders end with a slash. */
export async function completePath(
  sandboxes: Pick<Sandboxes, "get">,
  principal: Principal,
  { id, start }: { readonly id: string | undefined; readonly start: string },
): Promise<readonly string[]> {
  if (id === undefined) return [];
  const folder = start.slice(0, start.lastIndexOf("/") + 1);
  try {
    const sandbox = await sandboxes.get(principal, id);
    const names: string[] = [];
    const entries = sandbox.guest.files.list(posix.join("/", folder), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    for await (const { path, type } of entries) {
      names.push(`${folder}${path}${type === "directory" ? "/" : ""}`);
      if (names.length >= ENTRIES_MAX) break;
    }
    return names;
  } catch (error) {
    if (error instanceof BelljarError && error.code !== "INTERNAL") return [];
    throw error;
  }
}
