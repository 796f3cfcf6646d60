import { join } from "node:path";
import { openJsonSchemas } from "../../src/catalog/json-schemas.ts";
import { PreparedPackages } from "../../src/dynamic/packages/prepared-packages.ts";
import type { PackageSettings } from "../../src/dynamic/packages/package-index.ts";
import type { OwnerGrants } from "../../src/dynamic/run/owner-rights.ts";
import { ToolSandboxes } from "../../src/dynamic/run/tool-sandboxes.ts";
import { UnitRunner } from "../../src/dynamic/run/unit-runner.ts";
import { openFilesStore } from "../../src/dynamic/store/files-store.ts";
import { openFolderOfTools } from "../../src/dynamic/store/folder-of-tools.ts";
import { UserTools } from "../../src/dynamic/user-tools.ts";
import type { WarmPrograms } from "../../src/interpreter/warm/warm-programs.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";

/** Of the sandboxes that their calls run in. */
export const TOOL_LIMITS = { memoryBytes: 256 * 1_048_576, pids: 64 };

export interface TestUserToolsOptions {
  /** Their home. */
  readonly path: string;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "hiddenSnapshots">;
  readonly packages?: PackageSettings;
  readonly report?: (problem: string) => void;
  /** A folder of tools. */
  readonly folder?: string;
  /** What owners may have. Default: all of them everything. */
  readonly owners?: OwnerGrants;
  /** How often they are looked at while their code runs. Default: every few seconds. */
  readonly lookMs?: number;
  /** The Pythons that wait in fresh sandboxes. */
  readonly warm?: WarmPrograms;
}

const EVERYTHING: OwnerGrants = { of: async () => [{}] };

/** The users' tools of a home, in files. `read_file` is the one built-in name. */
export function openTestUserTools({
  path,
  sandboxes,
  folder,
  warm,
  packages: settings,
  report = () => undefined,
  owners = EVERYTHING,
  lookMs,
}: TestUserToolsOptions): Promise<UserTools> {
  const store = openFilesStore({ folder: join(path, "tools"), report });
  const packages = new PreparedPackages({ sandboxes, ...settings });
  const used = new ToolSandboxes({ sandboxes, limits: TOOL_LIMITS, packages, owners, ...(lookMs !== undefined && { lookMs }) });
  return UserTools.open({
    store,
    edits: store,
    ...(folder !== undefined && { folder: openFolderOfTools({ folder, report }) }),
    packages,
    runner: new UnitRunner({
      sandboxes: used,
      timeoutMs: 20_000,
      ...(warm && { warm }),
    }),
    schemas: () => openJsonSchemas(),
    isBuiltin: (name) => name === "read_file",
    listMax: 40,
    report,
  });
}
