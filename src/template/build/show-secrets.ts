import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import type { BuildParts } from "./build-parts.ts";
import { own } from "./parse-dockerfile.ts";
import { ROOT } from "./root-user.ts";
import type { SecretMount } from "./secret-mount.ts";
import { orAbsent } from "./source-tree.ts";

/** In memory, and no part of any layer. */
const MEMORY = "/dev/shm";
const USUAL = "/run/secrets";

export interface ShowRequest {
  readonly files: GuestFiles;
  readonly mounts: readonly SecretMount[];
  /** Who may read them. */
  readonly user: string;
}

/**
 * Shows secrets to a command: as variables, and as files that lie in the sandbox's memory, with links to them. The links are removed before
 * the step is frozen, and so is what the command put into their places. After a rejection the sandbox must not be frozen.
 */
export async function whileShown(
  { secrets, signal }: Pick<BuildParts, "secrets" | "signal">,
  { files, mounts, user }: ShowRequest,
  work: (env: Readonly<Record<string, string>>) => Promise<void>,
): Promise<void> {
  const given = mounts.flatMap((mount) => {
    const value = own(secrets, mount.id);
    return value === undefined ? [] : [{ ...mount, value }];
  });
  const links = given.flatMap(({ target, value }) => (target === undefined ? [] : [{ target, value }]));
  const folder = `${MEMORY}/secrets-${randomBytes(8).toString("hex")}`;
  const asRoot = { user: ROOT, signal };
  const isMade = links.some(({ target }) => posix.dirname(target) === USUAL) && !(await orAbsent(files.stat(USUAL, asRoot)));
  if (links.length > 0) await files.makeDirectory(folder, { user, mode: 0o700, signal });
  if (isMade) await files.makeDirectory(USUAL, { ...asRoot, mode: 0o755, parents: true });
  for (const [at, { target, value }] of links.entries()) {
    await files.write(`${folder}/${at}`, value, { user, mode: 0o400, signal });
    await files.symlink(target, `${folder}/${at}`, asRoot);
  }
  await work(Object.fromEntries(given.flatMap(({ env, value }) => (env === undefined ? [] : [[env, value]]))));
  for (const { target } of links) await orAbsent(files.remove(target, { ...asRoot, recursive: true }));
  if (isMade) await orAbsent(files.remove(USUAL, { ...asRoot, recursive: true }));
}
