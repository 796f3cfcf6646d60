import { BelljarError } from "../../../errors.ts";
import type { ContextInfo } from "../../../interpreter/lasting/contexts.ts";
import { createContext, listContexts, removeContext, restartContext } from "../../../interpreter/lasting/contexts.ts";
import { unless } from "../../../interpreter/lasting/context-process.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { INSIDE } from "../../../sandbox/sandbox.ts";

/** A context as E2B's clients know it. */
export interface CodeContext {
  readonly id: string;
  readonly language: string;
  /** The folder in which it is now. */
  readonly cwd: string;
}

const FOLDER_MS = 5_000;
const PATH_MAX_BYTES = 4_096;
/** The contexts that every sandbox has, whether they have begun or not. */
const DEFAULTS: readonly string[] = ["python", "javascript"];

export async function openCodeContext(sandbox: Sandbox, { language, cwd }: Omit<CodeContext, "id">): Promise<CodeContext> {
  const context = await createContext(sandbox, { language, cwd });
  return { id: context.id, language: context.language, cwd };
}

export async function listCodeContexts(sandbox: Sandbox, signal: AbortSignal): Promise<readonly CodeContext[]> {
  const living = await listContexts(sandbox, signal);
  const defaults = DEFAULTS.map((id) => living.find((context) => context.id === id) ?? { id, language: id, pid: undefined });
  const others = living.filter(({ id }) => !DEFAULTS.includes(id));
  return Promise.all(
    [...defaults, ...others].map(async ({ id, language, pid }) => ({ id, language, cwd: await folderOf(sandbox, pid, signal) })),
  );
}

/** In the folder in which it is, or at home if that has been removed. */
export async function restartCodeContext(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<void> {
  const known = await find(sandbox, id, signal);
  if (!known) return;
  const cwd = await folderOf(sandbox, known.pid, signal);
  const there = await unless("FILE_NOT_FOUND", sandbox.guest.files.stat(cwd, { signal }));
  await restartContext(sandbox, id, signal, there?.type === "directory" ? cwd : undefined);
}

export async function removeCodeContext(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<void> {
  if (await find(sandbox, id, signal)) await removeContext(sandbox, id, signal);
}

/** Undefined for a default one that has not begun: it has nothing that could be forgotten. Rejects with `CONTEXT_NOT_FOUND`. */
async function find(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<ContextInfo | undefined> {
  const found = (await listContexts(sandbox, signal)).find((context) => context.id === id);
  if (!found && !DEFAULTS.includes(id)) throw unknownContext(id);
  return found;
}

export function unknownContext(id: string): BelljarError {
  return new BelljarError("CONTEXT_NOT_FOUND", `Context ${id} not found`);
}

/** Its own user may see it. */
async function folderOf({ guest }: Sandbox, pid: number | undefined, signal: AbortSignal): Promise<string> {
  if (pid === undefined) return INSIDE.userHome;
  const argv = ["readlink", "-zn", "--", `/proc/${pid}/cwd`];
  const asked = guest.run({ argv, timeoutMs: FOLDER_MS, maxOutputBytes: PATH_MAX_BYTES, signal });
  const answer = await unless("COMMAND_NOT_FOUND", asked);
  return answer?.exitCode === 0 ? answer.stdout.toString() : INSIDE.userHome;
}
