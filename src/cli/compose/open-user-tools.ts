import { join } from "node:path";
import { openOnce } from "../../async/open-once.ts";
import { openJsonSchemas } from "../../catalog/json-schemas.ts";
import type { Config } from "../../config/config.ts";
import { ToolSandboxes } from "../../dynamic/run/tool-sandboxes.ts";
import { UnitRunner } from "../../dynamic/run/unit-runner.ts";
import { openFilesStore } from "../../dynamic/store/files-store.ts";
import { openFolderOfTools } from "../../dynamic/store/folder-of-tools.ts";
import { UserTools } from "../../dynamic/user-tools.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { readToolFacts } from "./tool-facts.ts";

export interface UserToolsParts {
  readonly config: Config;
  readonly sandboxes: Pick<Sandboxes, "create">;
  readonly report: (problem: string) => void;
}

/** The users' tools of a home. Disposing it ends the sandboxes that they run in. */
export async function openUserTools({ config, sandboxes, report }: UserToolsParts): Promise<UserTools> {
  const { timeoutMs: _timeout, network: _network, ...limits } = config.program;
  const { timeoutMs, listMax, directory } = config.tools;
  const used = new ToolSandboxes({ sandboxes, limits });
  let builtin: ReadonlySet<string> | undefined;
  const store = openFilesStore({ folder: join(config.home, "tools"), report });
  return UserTools.open({
    store,
    edits: store,
    ...(directory !== undefined && { folder: openFolderOfTools({ folder: directory, report }) }),
    runner: new UnitRunner({ sandboxes: used, timeoutMs }),
    schemas: openOnce(() => openJsonSchemas()),
    isBuiltin: (name) => (builtin ??= new Set(readToolFacts().map((tool) => tool.name))).has(name),
    listMax,
    report,
  });
}
