import { posix } from "node:path";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";

/** A path as a call of this user means it: a relative one begins at the user's home. Undefined for none. */
export function resolveFor(user: string | undefined, path: string | undefined, { inside }: Pick<Sandbox, "inside">): string | undefined {
  if (path === undefined || path === "") return undefined;
  if (path.startsWith("/")) return path;
  const home = user === "root" ? "/root" : user === undefined || user === "user" ? inside.home : `/home/${user}`;
  return posix.join(home, path.replace(/^~(?=\/|$)/, "."));
}
