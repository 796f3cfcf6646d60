import { findFolders } from "../find-home.ts";
import { toSource } from "../template-record.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

/** The sandbox in which a template is tried, should this process die. */
const TRIED = { network: "none", timeoutMs: 60_000, onDeadline: "kill", bestEffort: true, ephemeral: true } as const;

/** What is known before a sandbox was started. */
export interface Untried extends Omit<Making, "home" | "cwd" | "command" | "start"> {
  readonly workingDir?: string | undefined;
  readonly command: readonly string[];
}

/** What cannot be started is no template, and only a sandbox can say where its folders are. */
export function tryTemplate({ stored, sandboxes }: MakingParts, wish: Wish, untried: Untried): Promise<Making> {
  const { principal, id, options, signal } = wish;
  const { workingDir, command, user, ...rest } = untried;
  const given = { ...rest, ...(user !== undefined && { user }), ...(command.length > 0 && { command }) };
  const source = toSource({ version: 1, id, name: options.name, owner: principal.id, createdAt: new Date(), ...given });
  return stored.whileTried(principal, { ...source, home: "/", cwd: "/" }, async () => {
    const sandbox = await sandboxes.create(principal, { ...TRIED, template: id }, signal);
    try {
      const { home, ...start } = await findFolders(sandbox, { user: user ?? "", workingDir }, signal);
      return { ...given, ...start, ...(user !== undefined && { home }) }; // without a user it is the base's
    } finally {
      await sandbox.kill();
    }
  });
}
