import { createHash } from "node:crypto";
import { findFolders } from "../find-home.ts";
import { toSource } from "../template-record.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

/** The sandbox in which a template is tried, should this process die. */
const TRIED = { network: "none", timeoutMs: 60_000, onDeadline: "kill", bestEffort: true, ephemeral: true } as const;

/** What is known before a sandbox was started. */
export interface Untried extends Omit<Making, "home" | "cwd" | "tried" | "command" | "entrypoint" | "start"> {
  readonly workingDir?: string | undefined;
  readonly command: readonly string[];
  readonly entrypoint?: readonly string[] | undefined;
}

/**
 * What cannot be started is no template, and only a sandbox can say where its folders are. The same that the owner has by this name already
 * was tried when that was made.
 */
export async function tryTemplate(parts: MakingParts, wish: Wish, untried: Untried): Promise<Making> {
  const { principal, options } = wish;
  const { workingDir: _, command, entrypoint = [], user, ...rest } = untried;
  const run = { ...(command.length > 0 && { command }), ...(entrypoint.length > 0 && { entrypoint }) };
  const given = { ...rest, ...(user !== undefined && { user }), ...run };
  const tried = digestTrial(parts, untried);
  const known = await parts.stored.record(principal, options.name, principal.id);
  const { home, cwd } = known && known.tried === tried ? known : await lookInside(parts, wish, { untried, given });
  return { ...given, ...(cwd !== undefined && { cwd }), ...(home !== undefined && { home }), tried };
}

function digestTrial({ runtimes }: MakingParts, { runtime, base, layers, env, user, workingDir }: Untried): string {
  const ownFiles = runtimes.of({ runtime })?.layers.states?.markBase(base);
  return createHash("sha256")
    .update(JSON.stringify([runtime, base, ownFiles, layers, Object.entries(env), user, workingDir]))
    .digest("hex");
}

type Folders = Pick<Making, "home" | "cwd">;

function lookInside(
  { stored, sandboxes }: MakingParts,
  { principal, id, options, signal }: Wish,
  { untried: { user, workingDir }, given }: { readonly untried: Untried; readonly given: Making },
): Promise<Folders> {
  const source = toSource({ version: 1, id, name: options.name, owner: principal.id, createdAt: new Date(), ...given });
  return stored.whileTried(principal, { ...source, home: "/", cwd: "/" }, async () => {
    const sandbox = await sandboxes.create(principal, { ...TRIED, template: id }, signal);
    try {
      const { home, ...start } = await findFolders(sandbox, { user: user ?? "", workingDir }, signal);
      return { ...start, ...(user !== undefined && { home }) }; // without a user it is the base's
    } finally {
      await sandbox.kill();
    }
  });
}
