import { join } from "node:path";
import { openJsonSchemas } from "../../src/catalog/json-schemas.ts";
import { PreparedPackages } from "../../src/packages/prepared-packages.ts";
import type { PackageSettings } from "../../src/packages/package-index.ts";
import type { OwnerGrants } from "../../src/dynamic/run/owner-rights.ts";
import { ToolSandboxes } from "../../src/dynamic/run/tool-sandboxes.ts";
import { UnitRunner } from "../../src/dynamic/run/unit-runner.ts";
import { openFilesStore } from "../../src/dynamic/store/files-store.ts";
import { openPostgresStore } from "../../src/dynamic/store/postgres/postgres-store.ts";
import { openFolderOfTools } from "../../src/dynamic/store/folder-of-tools.ts";
import { TOOL_PACKAGES, UserTools, type UserToolsOptions } from "../../src/dynamic/user-tools.ts";
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
  /** Where a person edits by hand. Default: in the files of the home. */
  readonly edits?: UserToolsOptions["edits"];
  /** Default: this host enforces all limits. */
  readonly assertLimits?: UserToolsOptions["assertLimits"];
  /** What owners may have. Default: all of them everything. */
  readonly owners?: OwnerGrants;
  /** How often they are looked at while their code runs. Default: every few seconds. */
  readonly lookMs?: number;
  /** The Pythons that wait in fresh sandboxes. */
  readonly warm?: WarmPrograms;
  /** The address of a PostgreSQL database. Absent: they lie in files. */
  readonly database?: string;
}

const EVERYTHING: OwnerGrants = { of: async () => [{}] };

/** The users' tools of a home. `read_file` is the one built-in name. */
export async function openTestUserTools({
  path,
  sandboxes,
  folder,
  edits,
  warm,
  database,
  packages: settings,
  report = () => undefined,
  owners = EVERYTHING,
  assertLimits,
  lookMs,
}: TestUserToolsOptions): Promise<UserTools> {
  const stored = await openStore(path, database, report);
  const packages = new PreparedPackages({ sandboxes, prefix: TOOL_PACKAGES, ...settings });
  const used = new ToolSandboxes({ sandboxes, limits: TOOL_LIMITS, packages, owners, ...(lookMs !== undefined && { lookMs }) });
  return UserTools.open({
    ...stored,
    ...(edits && { edits }),
    ...(folder !== undefined && { folder: openFolderOfTools({ folder, report }) }),
    packages,
    runner: new UnitRunner({
      sandboxes: used,
      timeoutMs: 20_000,
      ...(warm && { warm }),
    }),
    schemas: () => openJsonSchemas(),
    isBuiltin: (name) => name === "read_file",
    ...(assertLimits && { assertLimits }),
    listMax: 40,
    report,
  });
}

async function openStore(path: string, database: string | undefined, report: (problem: string) => void) {
  if (database === undefined) {
    const store = openFilesStore({ folder: join(path, "tools"), report });
    return { store, edits: store };
  }
  const store = await openPostgresStore({ place: { url: database }, report });
  return { store, left: store.left };
}
