import { join } from "node:path";
import { openOnce } from "../../async/open-once.ts";
import { openJsonSchemas } from "../../catalog/json-schemas.ts";
import type { Config } from "../../config/config.ts";
import { databaseOf } from "../../config/database.ts";
import { PreparedPackages } from "../../packages/prepared-packages.ts";
import { ToolSandboxes } from "../../dynamic/run/tool-sandboxes.ts";
import { UnitRunner } from "../../dynamic/run/unit-runner.ts";
import { openFilesStore } from "../../dynamic/store/files-store.ts";
import { openFolderOfTools } from "../../dynamic/store/folder-of-tools.ts";
import { TOOL_PACKAGES, UserTools, type UserToolsOptions } from "../../dynamic/user-tools.ts";
import type { SeenTokens } from "../../gateway/auth/oauth/seen-tokens.ts";
import { createOwnerGrants } from "../../gateway/auth/owner-grants.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { WarmPrograms } from "../../interpreter/warm/warm-programs.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import { assertToolLimits } from "./assert-tool-limits.ts";
import { readToolFacts } from "./tool-facts.ts";

export interface UserToolsParts {
  readonly config: Config;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "hiddenSnapshots" | "isolation">;
  /** The access tokens that this process lets in. */
  readonly accessTokens?: SeenTokens | undefined;
  readonly report: (problem: string) => void;
  /** Absent: no interpreter waits in this process. */
  readonly warmPrograms?: (() => Promise<WarmPrograms>) | undefined;
}

/** The users' tools of a home. Disposing it ends the sandboxes that they run in. */
export async function openUserTools({ config, sandboxes, accessTokens, report, warmPrograms }: UserToolsParts): Promise<UserTools> {
  const { timeoutMs: _timeout, network: _network, ...limits } = config.program;
  const { timeoutMs, listMax, directory, indexUrl, registryUrl } = config.tools;
  const packages = new PreparedPackages({ sandboxes, prefix: TOOL_PACKAGES, indexUrl, registryUrl });
  const owners = createOwnerGrants({ tokens: createTokenStore(config.home), ...(accessTokens && { accessTokens }) });
  const used = new ToolSandboxes({ sandboxes, limits, packages, owners });
  const warm = await warmPrograms?.();
  let builtin: ReadonlySet<string> | undefined;
  const folder = directory === undefined ? undefined : openFolderOfTools({ folder: directory, report });
  const stored = await openStore(config, report).catch((cause: unknown) => {
    folder?.[Symbol.dispose]();
    throw cause;
  });
  return UserTools.open({
    ...stored,
    ...(folder && { folder }),
    packages,
    runner: new UnitRunner({ sandboxes: used, timeoutMs, ...(warm && { warm }) }),
    schemas: openOnce(() => openJsonSchemas()),
    isBuiltin: (name) => (builtin ??= new Set(readToolFacts().map((tool) => tool.name))).has(name),
    assertLimits: (named) => assertToolLimits(sandboxes, named),
    listMax,
    report,
  });
}

/** Files that a person may edit, or a database. */
async function openStore(config: Config, report: (problem: string) => void): Promise<Pick<UserToolsOptions, "store" | "edits" | "left">> {
  const place = databaseOf(config.tools);
  if (!place) {
    const store = openFilesStore({ folder: join(config.home, "tools"), report });
    return { store, edits: store };
  }
  const { openPostgresStore } = await import("../../dynamic/store/postgres/postgres-store.ts");
  const store = await openPostgresStore({ place, report });
  return { store, left: store.left };
}
