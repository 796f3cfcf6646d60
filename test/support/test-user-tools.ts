import { join } from "node:path";
import { openJsonSchemas } from "../../src/catalog/json-schemas.ts";
import { ToolSandboxes } from "../../src/dynamic/run/tool-sandboxes.ts";
import { UnitRunner } from "../../src/dynamic/run/unit-runner.ts";
import { openFilesStore } from "../../src/dynamic/store/files-store.ts";
import { openFolderOfTools } from "../../src/dynamic/store/folder-of-tools.ts";
import { UserTools } from "../../src/dynamic/user-tools.ts";
import type { Sandboxes } from "../../src/sandbox/sandbox.ts";

const LIMITS = { memoryBytes: 256 * 1_048_576, pids: 64 };

export interface TestUserToolsOptions {
  /** Their home. */
  readonly path: string;
  readonly sandboxes: Pick<Sandboxes, "create">;
  readonly report?: (problem: string) => void;
  /** A folder of tools. */
  readonly folder?: string;
}

/** The users' tools of a home, in files. `read_file` is the one built-in name. */
export function openTestUserTools({ path, sandboxes, folder, report = () => undefined }: TestUserToolsOptions): Promise<UserTools> {
  const store = openFilesStore({ folder: join(path, "tools"), report });
  return UserTools.open({
    store,
    edits: store,
    ...(folder !== undefined && { folder: openFolderOfTools({ folder, report }) }),
    runner: new UnitRunner({ sandboxes: new ToolSandboxes({ sandboxes, limits: LIMITS }), timeoutMs: 20_000 }),
    schemas: () => openJsonSchemas(),
    isBuiltin: (name) => name === "read_file",
    listMax: 40,
    report,
  });
}
