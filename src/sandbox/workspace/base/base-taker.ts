import { writeFileSync } from "node:fs";
import { limitTime } from "../../../async/limit-time.ts";
import { fileError } from "../../../files/file-error.ts";
import type { SandboxRecord } from "../../sandbox-record.ts";
import type { WorkspaceBase } from "./base-entry.ts";
import { baseFilesIn, openBase } from "./base-files.ts";
import { takeBase } from "./take-base.ts";

const TIMEOUT_MS = 30_000;

interface Taking {
  readonly taking: Promise<void>;
  readonly abort: AbortController;
  readonly isLost: boolean;
}

/**
 * Takes down how the workspaces of new sandboxes began, in the background. A list that is not completed proves nothing, and what it does not
 * prove is not applied unasked. Disposing it waits for the lists, but not for those of sandboxes that end with this process.
 */
export class BaseTaker implements AsyncDisposable {
  readonly #folder: (id: string) => string;
  readonly #report: (problem: string) => void;
  readonly #taking = new Map<string, Taking>();

  constructor(folder: (id: string) => string, report: (problem: string) => void) {
    this.#folder = folder;
    this.#report = report;
  }

  /** Call it when the sandbox is made, before anybody can use it. */
  begin({ id, workspace, ephemeral, lineage }: SandboxRecord): void {
    // What a fork has of the folder is older than the fork: no list of now proves anything of it.
    if (workspace?.mode !== "copy" || lineage) return;
    const files = baseFilesIn(this.#folder(id));
    try {
      writeFileSync(files.started, "", { mode: 0o600 });
    } catch (cause) {
      throw fileError(files.started, cause);
    }
    const abort = new AbortController();
    const limited = limitTime(abort.signal, TIMEOUT_MS);
    const taking = takeBase(workspace.path, files, limited.signal)
      .catch((cause: unknown) => {
        if (!abort.signal.aborted) this.#report(notTaken(id, workspace.path, cause));
      })
      .finally(() => limited[Symbol.dispose]());
    this.#taking.set(id, { taking, abort, isLost: ephemeral });
    void taking.then(() => this.#taking.delete(id));
  }

  /** How a workspace began. Whoever asks this process waits for a list that it is taking. */
  open(id: string): WorkspaceBase {
    const base = openBase(this.#folder(id));
    return {
      workspaceBase: async (keys) => {
        await this.#taking.get(id)?.taking;
        return base.workspaceBase(keys);
      },
      workspaceBaseText: (key) => base.workspaceBaseText(key),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#taking.values()];
    for (const { abort, isLost } of all) if (isLost) abort.abort();
    await Promise.all(all.map(({ taking }) => taking));
  }
}

function notTaken(id: string, path: string, cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return `Changes that sandbox ${id} makes in ${path} will not all be applied unasked, for the folder was not listed: ${reason}`;
}
